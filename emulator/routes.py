"""The table of routes: the interface's endpoints first, then the control plane."""

from drumbeat.emulator.control.events import EventControl
from drumbeat.emulator.control.faults import FaultControl
from drumbeat.emulator.control.ledger import LedgerControl
from drumbeat.emulator.control.people import PeopleControl
from drumbeat.emulator.control.settings import SettingsControl
from drumbeat.emulator.control.state import StateControl
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.metrics import MetricsEndpoint
from drumbeat.emulator.resources.media import MediaEndpoints
from drumbeat.emulator.resources.numbers import NumberEndpoints
from drumbeat.emulator.resources.objects import ObjectEndpoints
from drumbeat.emulator.resources.subscriptions import SubscriptionEndpoints
from drumbeat.emulator.resources.templates import TemplateEndpoints
from drumbeat.emulator.wire.router import Route, Router


def build_router(service: MessagingService) -> Router:
    """Return a router of every path except the send endpoints, which have their own table (one entry for each
    number).
    """
    return Router(routes(service))


def routes(service: MessagingService) -> list[Route]:
    """Return the whole table."""
    return [*_interface(service), *_control(service)]


def _interface(service: MessagingService) -> list[Route]:
    base, profile = f"/{service.config.version}", f"/{service.config.product}_business_profile"
    templates, numbers = TemplateEndpoints(service), NumberEndpoints(service)
    media, subscriptions = MediaEndpoints(service), SubscriptionEndpoints(service)
    objects = ObjectEndpoints(service, media)
    return [
        Route("POST", base + "/{id}/messages", numbers.send_elsewhere),
        Route("POST", base + "/{id}/media", media.upload),
        Route("GET", base + "/{id}/message_templates", templates.list),
        Route("POST", base + "/{id}/message_templates", templates.create),
        Route("DELETE", base + "/{id}/message_templates", templates.delete),
        Route("GET", base + "/{id}/phone_numbers", numbers.list),
        Route("POST", base + "/{id}/register", numbers.register),
        Route("GET", base + "/{id}" + profile, numbers.show_profile),
        Route("POST", base + "/{id}" + profile, numbers.update_profile),
        Route("GET", base + "/{id}/subscriptions", subscriptions.list),
        Route("POST", base + "/{id}/subscriptions", subscriptions.subscribe),
        Route("DELETE", base + "/{id}/subscriptions", subscriptions.unsubscribe),
        Route("GET", base + "/{id}/subscribed_apps", subscriptions.list_apps),
        Route("POST", base + "/{id}/subscribed_apps", subscriptions.add_app),
        Route("DELETE", base + "/{id}/subscribed_apps", subscriptions.remove_app),
        Route("GET", base + "/{id}", objects.show),
        Route("DELETE", base + "/{id}", objects.delete),
        Route("GET", "/media/{ticket}", media.download),
    ]


def _control(service: MessagingService) -> list[Route]:
    settings, ledger, events = SettingsControl(service), LedgerControl(service), EventControl(service)
    people, faults, state = PeopleControl(service), FaultControl(service), StateControl(service)
    return [
        Route("GET", "/_emulator/health", settings.health),
        Route("POST", "/_emulator/reset", settings.reset),
        Route("POST", "/_emulator/accounts", settings.set_account),
        Route("POST", "/_emulator/apps", settings.set_app),
        Route("POST", "/_emulator/numbers", settings.set_number),
        Route("POST", "/_emulator/tokens", settings.set_token),
        Route("POST", "/_emulator/templates/{name}/status", events.set_status),
        Route("POST", "/_emulator/templates/{name}/category", events.set_category),
        Route("POST", "/_emulator/templates/{name}/quality", events.set_quality),
        Route("POST", "/_emulator/events", events.announce),
        Route("POST", "/_emulator/preferences", events.prefer),
        Route("POST", "/_emulator/callback", settings.set_callback),
        Route("POST", "/_emulator/statuses", settings.set_statuses),
        Route("POST", "/_emulator/clock", settings.advance_clock),
        Route("GET", "/_emulator/faults", faults.list),
        Route("POST", "/_emulator/faults", faults.add),
        Route("DELETE", "/_emulator/faults", faults.clear),
        Route("POST", "/_emulator/scenario", faults.play),
        Route("GET", "/_emulator/ledger", ledger.messages),
        Route("GET", "/_emulator/ledger/summary", ledger.summary),
        Route("POST", "/_emulator/incoming", people.incoming),
        Route("POST", "/_emulator/recipients", people.recipient),
        Route("POST", "/_emulator/reads", people.read_late),
        Route("GET", "/_emulator/events/summary", people.events),
        Route("GET", "/_emulator/snapshot", state.show),
        Route("POST", "/_emulator/snapshot", state.save),
        Route("POST", "/_emulator/restore", state.restore),
        Route("GET", "/_emulator/overview", state.overview),
        Route("GET", "/metrics", MetricsEndpoint(service).show),
        Route("GET", "/openapi.json", state.document),
        Route("GET", "/page/{name}", state.page),
        Route("GET", "/", state.page),
    ]
