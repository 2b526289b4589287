"""The users, their sessions, and the tokens of programs. No secret is stored, only a hash that proves it."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import NotFound, UsageError
from drumbeat.engine.store.database import Connection, Pool

SESSION_S = 12 * 3600  # a working day
IDLE_S = 2 * 3600
SECRET_BYTES = 32
PASSWORD_CHARACTERS_MIN = 12
PASSWORD_CHARACTERS_MAX = 1_000  # a hash of a megabyte would cost seconds
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")
# Hashes computed at the same time: each takes 64 MiB and a tenth of a second of a core.
HASHES_MAX = 2

_HASHER = PasswordHasher()
_hashing = ThreadPoolExecutor(HASHES_MAX, "password")


@dataclass(frozen=True, slots=True)
class User:
    """A user. `sessions`: how many are open now. A user without a password is signed in by a trusted
    proxy.
    """

    name: str
    role: Role
    has_password: bool
    created_at: datetime
    sessions: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a program, without its secret. `made_by`: the person behind it, or None if nobody knows."""

    name: str
    role: Role
    created_at: datetime
    made_by: str | None


@dataclass(frozen=True, slots=True)
class Session:
    """An open session of a user. `is_stale`: its use was not noted for a minute."""

    name: str
    role: Role
    is_stale: bool


async def form_key(pool: Pool) -> bytes:
    """Return the key of the tokens in forms: 32 bytes, the same in every console of this database."""
    key: bytes = await pool.fetchval(statements("console_people")["form_key"])
    return key


async def any_user(pool: Pool) -> bool:
    return bool(await pool.fetchval(statements("console_people")["any_user"]))


async def list_users(pool: Pool) -> list[User]:
    """Return all users, ordered by name."""
    rows = await pool.fetch(statements("console_people")["users"], SESSION_S, IDLE_S)
    return [User(**{**dict(row), "role": Role(row["role"])}) for row in rows]


async def store_user(
    pool: Pool, name: str, role: Role, password: str | None, *, actor: str, keeps_manager: bool = False
) -> None:
    """Add a user, or give one another role and, if `password` is given, another password.

    A new password ends the user's sessions. `keeps_manager`, here and below: refuse a change that would leave
    the console without a user who manages it. UsageError then, or if the name or the password cannot be used.
    """
    _check_name(name)
    hashed = None if password is None else await _hash(_checked_password(password))
    sql = statements("console_people")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(sql["lock_managers"])
        await connection.execute(sql["store_user"], name, role.value, hashed)
        if keeps_manager:
            await _require_manager(connection)
        if hashed is not None:
            await connection.execute(sql["end_sessions"], name)
        await note_audit(
            connection, actor, "user-add", user=name, role=role.value, password=hashed is not None
        )


async def remove_user(pool: Pool, name: str, *, actor: str, keeps_manager: bool = False) -> None:
    """Remove a user and end all of the user's sessions. NotFound if there is no such user."""
    sql = statements("console_people")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(sql["lock_managers"])
        if await connection.fetchval(sql["remove_user"], name) is None:
            raise _no_user(name)
        if keeps_manager:
            await _require_manager(connection)
        await note_audit(connection, actor, "user-remove", user=name)


async def _require_manager(connection: Connection) -> None:
    if not await connection.fetchval(statements("console_people")["any_manager"]):
        raise UsageError(
            "nobody would be left who manages the console",
            remedy=f"give another user the role {Role.MANAGE.value} first",
        )


def _no_user(name: str) -> NotFound:
    return NotFound(f'there is no user "{name}"', remedy="see `drumbeat console user list`")


async def user_named(pool: Pool, name: str) -> User:
    """Return the user. NotFound if there is no such user."""
    found = next((user for user in await list_users(pool) if user.name == name), None)
    if found is None:
        raise _no_user(name)
    return found


async def find_user(pool: Pool, name: str) -> Role | None:
    """Return the role of a user, or None if there is no such user."""
    row = await pool.fetchrow(statements("console_people")["user"], name)
    return None if row is None else Role(row["role"])


async def password_hash(pool: Pool, name: str) -> str | None:
    """Return the stored hash of a user's password, or None if there is none."""
    row = await pool.fetchrow(statements("console_people")["user"], name)
    return None if row is None else row["password_hash"]


async def sign_in(pool: Pool, name: str, password: str) -> str | None:
    """Return the secret of a new session, or None if the name or the password is wrong.

    Takes as long for a name that does not exist, so that nobody learns which names do.
    """
    sql = statements("console_people")
    row = await pool.fetchrow(sql["user"], name)
    stored = None if row is None else row["password_hash"]
    is_right = await _verify(stored or _OF_NOBODY, password[:PASSWORD_CHARACTERS_MAX])
    if row is None or stored is None or not is_right:
        return None
    if _HASHER.check_needs_rehash(stored):
        await pool.execute(sql["rehash"], name, stored, await _hash(password))
    return await begin_session(pool, name)


async def begin_session(pool: Pool, name: str) -> str:
    """Return the secret of a new session of a user who has shown who it is."""
    sql, secret = statements("console_people"), secrets.token_urlsafe(SECRET_BYTES)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(sql["remove_old"], SESSION_S, IDLE_S, SESSION_S)
        await connection.execute(sql["begin_session"], digest(secret), name)
        await note_audit(connection, name, "sign-in")
    return secret


async def change_password(pool: Pool, name: str, present: str, new: str, *, session: str) -> bool:
    """Change a user's password and end all sessions of the user but this one. Return whether the present
    password is right; otherwise nothing changes. UsageError if the new one cannot be used.
    """
    sql = statements("console_people")
    checked = _checked_password(new)
    row = await pool.fetchrow(sql["user"], name)
    stored = None if row is None else row["password_hash"]
    if stored is None or not await _verify(stored, present[:PASSWORD_CHARACTERS_MAX]):
        return False
    hashed = await _hash(checked)
    async with pool.acquire() as connection, connection.transaction():
        if await connection.fetchval(sql["change_password"], name, stored, hashed) is None:
            return False  # it was changed meanwhile
        await connection.execute(sql["end_other_sessions"], name, digest(session))
        await note_audit(connection, name, "password-change")
    return True


async def open_session(pool: Pool, secret: str, *, used: bool) -> Session | None:
    """Return the session of a cookie, or None if it has ended. `used`: a person makes the request, which
    keeps the session open.
    """
    sql = statements("console_people")
    row = await pool.fetchrow(sql["session"], digest(secret), SESSION_S, IDLE_S)
    if row is None:
        return None
    if used and row["is_stale"]:
        await pool.execute(sql["use_session"], digest(secret))
    return Session(row["name"], Role(row["role"]), row["is_stale"])


async def end_session(pool: Pool, secret: str) -> None:
    name = await pool.fetchval(statements("console_people")["end_session"], digest(secret))
    if name is not None:
        await note_audit(pool, name, "sign-out")


async def end_sessions_of(pool: Pool, name: str, *, actor: str) -> None:
    """Sign a user out everywhere."""
    await pool.execute(statements("console_people")["end_sessions"], name)
    await note_audit(pool, actor, "sign-out", user=name)


async def list_tokens(pool: Pool) -> list[Token]:
    """Return all tokens, ordered by name."""
    rows = await pool.fetch(statements("console_people")["tokens"])
    return [Token(row["name"], Role(row["role"]), row["created_at"], row["made_by"]) for row in rows]


async def add_token(pool: Pool, name: str, role: Role, *, actor: str, person: str | None = None) -> str:
    """Store a new token and return its secret, which nobody can read again. `person`: the person behind the
    actor, if the actor is a program. UsageError if the name is taken.
    """
    _check_name(name)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    async with pool.acquire() as connection, connection.transaction():
        arguments = (digest(secret), name, role.value, person or actor)
        if await connection.fetchval(statements("console_people")["add_token"], *arguments) is None:
            raise UsageError(f'there is a token "{name}" already', remedy="remove it, or use another name")
        await note_audit(connection, actor, "token-add", token=name, role=role.value)
    return secret


async def remove_token(pool: Pool, name: str, *, actor: str) -> None:
    """Remove a token. It is refused from now on. NotFound if there is no such token."""
    async with pool.acquire() as connection, connection.transaction():
        if await connection.fetchval(statements("console_people")["remove_token"], name) is None:
            raise NotFound(f'there is no token "{name}"', remedy="see `drumbeat console token list`")
        await note_audit(connection, actor, "token-remove", token=name)


async def find_token(database: Pool | Connection, secret: str) -> tuple[str, Role, str | None] | None:
    """Return the name and role of a token, and the person who made it, or None if there is no such token."""
    row = await database.fetchrow(statements("console_people")["token"], digest(secret))
    return None if row is None else (row["name"], Role(row["role"]), row["made_by"])


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a name", remedy="use 1 to 64 letters, digits and . _ @ + -, such as ana"
        )


def _checked_password(password: str) -> str:
    if not PASSWORD_CHARACTERS_MIN <= len(password) <= PASSWORD_CHARACTERS_MAX:
        raise UsageError(f"a password must have {PASSWORD_CHARACTERS_MIN} characters or more")
    return password


async def _hash(password: str) -> str:
    return await asyncio.get_running_loop().run_in_executor(_hashing, _HASHER.hash, password)


async def _verify(stored: str, password: str) -> bool:
    return await asyncio.get_running_loop().run_in_executor(_hashing, _is_right, stored, password)


def _is_right(stored: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False


# The hash that is compared with the password of a user who does not exist, so that the reply takes the usual
# time. The result does not count.
_OF_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$A6zt0s4Rbz8oN53ABawPBA$YnsYHOjn4OGCvOfF1qOnErfBiZVVKdRTdrXElIQqqE8"
)
