"""The question which encoding a CSV file has, if the file does not say it and its names depend on it.

Law: no guess that changes a name goes into a message. Cells that no message takes may hold anything.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from drumbeat.campaigns.audience.check.columns import MissingColumn
from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.encoding import Encoding, UnreadableAudience, bytes_of
from drumbeat.campaigns.audience.open.encoding_candidates import Candidate, candidates
from drumbeat.campaigns.audience.open.opening import OpenAudience
from drumbeat.campaigns.audience.open.reader import AudienceTable

SAMPLE_CELLS = 40  # more do not order the candidates better


class UnknownEncoding(UnreadableAudience):
    """A file whose encoding a person must name. `candidates`: what may fit, the likeliest first."""

    def __init__(self, where: str, column: str, found: Sequence[Candidate]) -> None:
        readings = "; ".join(f"{each.name}: {', '.join(each.cells)}" for each in found)
        super().__init__(
            'the file does not say its encoding, and the texts in "{column}" depend on it',
            where=where,
            remedy="give {encoding} with the one that reads them right: {readings}",
            values={"column": column, "readings": readings},
        )
        self.candidates = found


def known_table(source: OpenAudience, table: AudienceTable, rules: RowRules | None) -> AudienceTable:
    """Return the table of a source, of which nothing is read yet. `rules` say which texts are used; with
    None, all are.

    Raise UnknownEncoding if a used text depends on the encoding. Then the file is read up to that text; any
    other file is not read here.
    """
    encoding = table.encoding
    if encoding is None or not encoding.asks:
        return table
    columns = list(enumerate(table.header)) if rules is None else _used(table, rules, encoding)
    for batch in table.batches():
        for index, column in columns:
            if unclear := _unclear(row[index] for row in batch.rows):
                raise _question(table.name, column, unclear, encoding)
    return source.table()


def _used(table: AudienceTable, rules: RowRules, encoding: Encoding) -> Sequence[tuple[int, str]]:
    try:
        return row_check(table.header, table.name, rules).value_columns
    except MissingColumn:
        if unclear := _unclear(table.header):
            raise _question(table.name, "the header", unclear, encoding) from None
        raise


def encoding_candidates(source: OpenAudience) -> list[Candidate]:
    """Return what the encoding of a file may be; nothing if it is known, or if no text depends on it."""
    table = source.table()
    if table.encoding is None or not table.encoding.asks:
        return []
    for rows in chain([[table.header]], (batch.rows for batch in table.batches())):
        if unclear := _unclear(chain.from_iterable(rows)):
            return _candidates(unclear, table.encoding)
    return []


def _unclear(cells: Iterable[str]) -> list[str]:
    return list(islice(dict.fromkeys(cell for cell in cells if not cell.isascii()), SAMPLE_CELLS))


def _candidates(cells: Sequence[str], encoding: Encoding) -> list[Candidate]:
    return candidates([bytes_of(cell, encoding) for cell in cells])


def _question(where: str, column: str, cells: Sequence[str], encoding: Encoding) -> UnknownEncoding:
    return UnknownEncoding(where, column, _candidates(cells, encoding))
