"""The form of an export: the recipients that it holds, and its form."""

from __future__ import annotations

from typing import BinaryIO

from aiohttp import web

from drumbeat.campaigns.account.numbers import read_number_names
from drumbeat.campaigns.console.campaigns.export_words import ExportWords, WordsWriter
from drumbeat.campaigns.console.campaigns.exporting import kept_columns, send_export
from drumbeat.campaigns.console.campaigns.named import named_campaign, named_status
from drumbeat.campaigns.console.campaigns.steering_shapes import ExportQuery
from drumbeat.campaigns.console.web.context import console_of
from drumbeat.campaigns.console.web.local_times import time_zones
from drumbeat.campaigns.console.web.rendering import page, texts_for
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.results.export_files import CsvWriter, ExportForm, ExportWriter, XlsxWriter, writer_of
from drumbeat.engine.core.states import RecipientState

IN_WORDS = (ExportForm.CSV, ExportForm.XLSX)
FIRST_OFFERED = ExportForm.XLSX  # a spreadsheet keeps its phones as texts; those of CSV it may round


class PageExport(ExportQuery):
    """The options of an export from a page. `words`: headings and values in words, which only CSV and Excel
    have. `zone`: times are shown on its clock.
    """

    words: bool = False
    zone: str = ""


async def export(request: web.Request) -> web.StreamResponse:
    """Send everybody who passes the filter, for people or for programs."""
    campaign, asked, texts = await named_campaign(request), query_of(request, PageExport), texts_for(request)
    columns = await kept_columns(request, campaign)
    zone = asked.zone if asked.zone in time_zones() else texts.zone
    words = ExportWords(texts, zone, columns)

    def write_to(file: BinaryIO) -> ExportWriter:
        if not asked.words or asked.format not in IN_WORDS:
            return writer_of(asked.format, file, campaign.name, columns, separator=asked.separator)
        is_csv = asked.format is ExportForm.CSV
        writer = (
            CsvWriter(file, words.headings, texts("export.separator"), is_marked=True)
            if is_csv
            else XlsxWriter(file, words.headings)
        )
        return WordsWriter(words, writer)

    return await send_export(request, campaign, asked, write_to)


async def show_export(request: web.Request) -> web.Response:
    (campaign, status), asked = await named_status(request), query_of(request, ExportQuery)
    known = await read_number_names(console_of(request).pool)
    return page(
        request,
        "export.html.j2",
        campaign=campaign,
        asked=asked,
        counts=status.counts,
        states=list(RecipientState),
        forms=sorted(ExportForm, key=lambda form: form is not FIRST_OFFERED),
        chosen=asked.format if "format" in request.query else FIRST_OFFERED,
        in_words=IN_WORDS,
        zones=time_zones(),
        numbers=campaign.phone_number_ids if len(campaign.phone_number_ids) > 1 else [],
        known=known,
        languages_of=sorted({each.language for each in status.templates}),
        variants_of=sorted({each.variant for each in status.templates if each.variant}),
    )
