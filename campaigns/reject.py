"""A rejected row, and the table of the reasons."""

from __future__ import annotations

from dataclasses import dataclass

from drumbeat.engine.core.phone_aliases import WHAT_CHANGED

VALUE_CHARACTERS_MAX = 200  # enough to recognise a cell; a broken row may be a megabyte long


def code_of_old(country: str) -> str:
    """Return the code of a number that is of an earlier numbering plan of this country."""
    return f"phone_old_{country.lower()}"


# Source: the service's rules for variables, and the rules of this reader.
REASONS = {
    "row_shape": "the row has more or fewer cells than the header",
    "row_quotes": "a quoted cell is not closed, or text follows its closing quote",
    "row_backslash": "a backslash is before a quote, and the row cannot be read either way; double the quote",
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
    "phone_letters": "there are letters among the digits, such as an O for a 0; write the digits",
    "phone_label": "the cell holds words beside the number; keep the number alone",
    "phone_link": "the cell holds a link that names no phone; give the number",
    "phone_email": "the cell holds an e-mail address; give the phone number",
    "phone_username": "the cell holds a user name; the service takes phone numbers only",
    "phone_user_id": "the cell holds an id of the service for a person or a group, not a phone number",
    "phone_two_numbers": (
        "the cell holds two numbers, or one with a second ending; keep one whole number, or have the first"
        " taken"
    ),
    "phone_extension": "the number has an extension, which gets no messages; keep the number without it",
    "phone_too_short": "the number has too few digits",
    "phone_too_long": "the number has too many digits",
    "phone_invalid": "no country has such a number; a national number needs a region",
    "phone_not_in_region": "neither the given region nor any other country has such a number",
    "phone_decimal": (
        "no such number, and it ends in .0: a spreadsheet stored the phone as a number, which loses the + and"
        " leading zeros; format the column as text and export again"
    ),
    **{
        code_of_old(country): f"an old form: {change}; correct the number, or have such numbers repaired"
        for country, change in WHAT_CHANGED.items()
    },
    "country_unknown": "the column of countries holds no country; write its name, ISO code or calling code",
    "phone_other_country": (
        "the number is not one of its row's country; if it belongs to another one, write it with +"
    ),
    "phone_landline": "the number is a landline, which is to be left out",
    "phone_toll_free": "the number is toll-free, which is to be left out",
    "phone_premium": "the number costs its callers extra, and is to be left out",
    "phone_satellite": "the number belongs to a satellite phone, which is to be left out",
    "phone_not_mobile": "the number is no mobile number, and only these are to get messages",
    "variable_empty": "the variable is empty; fill the cell, or give a default",
    "variable_newline": "the variable holds a line break",
    "variable_tab": "the variable holds a tab",
    "variable_spaces": "the variable holds more than four spaces in a row",
    "variable_control": "the variable holds a NUL character",
    "variable_too_long": "the variable is longer than 1,024 characters",
    "variable_replacement": "a letter is lost: the text holds U+FFFD; correct it, or export as UTF-8 again",
    "body_too_long": "the body with its values is longer than 1,024 characters; shorten a value",
    "header_too_long": "the header with its values is longer than 60 characters; shorten a value",
    "url_too_long": "the link with its value is longer than 2,000 characters; shorten the value",
    "code_too_long": "the code is longer than 15 characters",
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
    is the cell or the row as it was written; for a code of KNOWN_PHONES it is the phone. `note` says more
    about this row, such as how many cells it has.
    """

    line: int
    code: str
    column: str
    value: str
    note: str = ""

    @property
    def reason(self) -> str:
        return f"{REASONS[self.code]} ({self.note})" if self.note else REASONS[self.code]
