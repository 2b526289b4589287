"""A rejected row, and the table of the reasons."""

from __future__ import annotations

from dataclasses import dataclass

VALUE_CHARACTERS_MAX = 200  # enough to recognise a cell; a broken row may be a megabyte long


# Source: the service's rules for variables, and the rules of this reader.
REASONS = {
    "row_shape": "the row has more or fewer cells than the header",
    "row_quotes": "a quoted cell is not closed, or text follows its closing quote",
    "cell_size": "a cell is larger than 128 KiB",
    "cell_error": "the cell holds an error such as #N/A; correct its formula, or fill the cell",
    "cell_formula": (
        "the cell holds a formula without a stored result; open the workbook in a spreadsheet and save it"
        " as XLSX"
    ),
    "cell_merged": "the cell is merged with one before it; unmerge them, and fill each cell",
    "phone_empty": "there is no phone number",
    "phone_scientific": "a spreadsheet rounded the number; format the column as text and export again",
    "phone_malformed": "the cell is not one phone number of digits, + and the usual separators",
    "phone_two_numbers": "the cell holds two numbers, or one with a second ending; keep one whole number",
    "phone_extension": "the number has an extension, which gets no messages; keep the number without it",
    "phone_too_short": "the number has too few digits",
    "phone_too_long": "the number has too many digits",
    "phone_invalid": "no country has such a number; a national number needs a region",
    "phone_not_in_region": "neither the given region nor any other country has such a number",
    "phone_decimal": (
        "no such number, and it ends in .0: a spreadsheet stored the phone as a number, which loses the + and"
        " leading zeros; format the column as text and export again"
    ),
    "variable_empty": "the variable is empty; fill the cell, or give a default",
    "variable_newline": "the variable holds a line break",
    "variable_tab": "the variable holds a tab",
    "variable_spaces": "the variable holds more than four spaces in a row",
    "variable_control": "the variable holds a NUL character",
    "variable_too_long": "the variable is longer than 1,024 characters",
    "media_empty": "the cell names no link and no file for the header; fill it, or give a default",
    "media_link": "the service takes header media by HTTPS only; begin the link with https://",
    "media_missing": "there is no such file; name it as it is reached from the audience's directory",
    "media_outside": "the path leads out of the audience's directory; copy the file there",
    "media_unreadable": "the file cannot be read: it is not a file, or your user may not read it",
    "media_type": (
        "the file is not what the header shows: a JPEG or PNG picture, an MP4 or 3GPP video, or a document"
        " (PDF, text, Word, Excel, PowerPoint)"
    ),
    "media_size": "the file is empty or too large: pictures have up to 5 MB, videos 16 MB, documents 100 MB",
    "duplicate": "an earlier line has the same phone, and is kept",
    "excluded": "the phone is among those to leave out",
}


# Codes of people whom another message reaches. The value of such a row is the phone as it was read.
KNOWN_PHONES = frozenset({"duplicate", "excluded"})


@dataclass(frozen=True, slots=True)
class Reject:
    """A rejected row. `line` is where it starts, from 1; `column` is empty if the whole row is wrong. `value`
    is the cell or the row as it was written; for a code of KNOWN_PHONES it is the phone.
    """

    line: int
    code: str
    column: str
    value: str

    @property
    def reason(self) -> str:
        return REASONS[self.code]
