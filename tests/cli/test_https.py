"""A service with a certificate of one's own: what is not trusted is named, and a campaign is sent and counted."""

from pathlib import Path

import pytest

from tests.cli.conftest import write_audience
from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat, serving
from tests.kit.certificates import make_certificate

CREATE = ("campaign", "create", "spring", "--template", "order_shipped", "--language", "pt_BR", "--number", "2",
          "--audience", "people.csv", "--param", "name", "--param", "order")  # fmt: skip


@pytest.mark.long
def test_a_campaign_is_sent_by_https_and_the_ledger_is_counted(tmp_path: Path, database_url: str) -> None:
    certificate = make_certificate(tmp_path)
    settings = {
        "home": str(tmp_path / "home"), "database_url": database_url, "access_token": TOKEN,
        "app_secret": SECRET, "verify_token": VERIFY, "waba_id": ACCOUNT,
    }  # fmt: skip
    drumbeat = Drumbeat(tmp_path, settings)
    serve = ("emulator", "serve", "--port", "0", "--number", "2:1000", "--no-statuses")
    half = drumbeat(*serve, "--tls-cert", certificate.chain)
    assert half.exit_code == 78 and "tls_key" in half.complaint
    with serving(drumbeat, *serve, "--tls-cert", certificate.chain, "--tls-key", certificate.key) as url:
        assert url.startswith("https://")
        settings["base_url"] = url
        for refused in (drumbeat("numbers", "sync"), drumbeat("emulator", "ledger")):
            assert refused.exit_code == 69 and "DRUMBEAT_CA_FILE" in refused.complaint
        assert "DRUMBEAT_CA_FILE" in drumbeat("doctor").stdout
        settings["ca_file"] = str(certificate.chain)
        for what in ("numbers", "templates"):
            drumbeat.ok(what, "sync")
        write_audience(tmp_path / "people.csv", 20)
        drumbeat.ok(*CREATE)
        drumbeat.ok("campaign", "run", "spring", "--quiet")
        counts = drumbeat.ok("emulator", "ledger", "--twice", "--by-second", "--json").json
        assert (counts["messages"], counts["twice"]) == (20, {})
        assert sum(counts["numbers"][0]["by_second"]) == 20
        assert "twice: 0" in drumbeat.ok("emulator", "ledger", "--twice").stdout
    drumbeat.close()
