"""Numbers as a section shows them: rounded as a spreadsheet does, with decimals, separators and literals.

Point and comma stand as in the stored format, whatever the reader's country: a workbook does not say which
one it was shown in.
"""

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from itertools import takewhile

from drumbeat.campaigns.audience.open.number_format.sections import Kind, Token

Show = Callable[[float], str]
# A whole number of so many digits may be a phone: no format may put separators, decimals or an exponent in.
PHONE_DIGITS_MIN, PHONE_DIGITS_MAX = 10, 15
EXPONENT_DIGITS_MIN = 7  # the shortest phone
_GENERAL_CHARACTERS_MAX = 11  # what a spreadsheet shows of a number without a format
_GENERAL_DECIMALS_MAX = 9
_EXACT = 10**15
_EXACT_CONTEXT = Context(prec=400)  # the largest number of a cell has 309 digits


def exact(value: float) -> Decimal:
    """Return a number with the 15 digits that a spreadsheet keeps: 57.7 for 57.699999999999996."""
    return Decimal(f"{value:.15g}")


def general(value: float) -> str:
    """Return a number as a cell without a format shows it, but never with an exponent below 15 digits."""
    if not abs(value) < _EXACT:
        return repr(value)
    if value.is_integer():
        return str(int(value))
    number = exact(value)
    whole = len(str(abs(int(number))))
    decimals = min(_GENERAL_DECIMALS_MAX, _GENERAL_CHARACTERS_MAX - 1 - whole)
    rounded = _rounded(number, decimals) if decimals > 0 else number
    return f"{rounded:f}".rstrip("0").rstrip(".") if rounded else f"{number.normalize():E}"


def compile_number(tokens: Sequence[Token]) -> Show | None:
    """Return what shows a number without its sign; None if the section cannot be meant so."""
    kinds = [token.kind for token in tokens]
    if kinds.count(Kind.EXPONENT) > 1 or kinds.count(Kind.POINT) > 1:
        return None
    slash = _fraction_at(tokens)
    if slash is not None:
        return _Fraction(tokens, slash).show
    if Kind.EXPONENT in kinds:
        return _Exponent(tokens, kinds.index(Kind.EXPONENT)).show
    return _Fixed(tokens).show


class _Fixed:
    """A number without an exponent: 1,234.50, 00042, (415) 555-0101."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        tokens, commas = _trailing_commas(tokens)
        point = next((at for at, token in enumerate(tokens) if token.kind is Kind.POINT), len(tokens))
        self._grouped = any(token.kind is Kind.COMMA for token in tokens[:point])
        self._whole = [token for token in tokens[:point] if token.kind is not Kind.COMMA]
        self._rest = tokens[point:]
        self._shift = 2 * sum(token.kind is Kind.PERCENT for token in tokens) - 3 * commas
        self._unit = Decimal(1).scaleb(-sum(token.kind is Kind.DIGIT for token in self._rest))
        literal = any(token.kind in (Kind.LITERAL, Kind.PERCENT, Kind.SLASH) for token in tokens)
        self._only_digits = not literal and (self._grouped or self._unit < 1) and not self._shift
        self._template = _template(self._whole, self._rest, grouped=self._grouped)

    def show(self, value: float) -> str:
        if self._only_digits and may_be_phone(value, PHONE_DIGITS_MIN):
            return str(int(value))
        number = exact(value)
        return self.show_decimal(number.scaleb(self._shift) if self._shift else number)

    def show_decimal(self, number: Decimal) -> str:
        number = number.quantize(self._unit, ROUND_HALF_UP, _EXACT_CONTEXT)
        if self._template:
            return self._template.format(number)
        whole, _, decimals = f"{number:f}".partition(".")
        return self._whole_text(whole.lstrip("0")) + self._rest_text(decimals)

    def _whole_text(self, digits: str) -> str:
        """Fill the places from the right; the leftmost one takes all digits that are left."""
        places = [at for at, token in enumerate(self._whole) if token.kind is Kind.DIGIT]
        zero = next((at for at in places if self._whole[at].text == "0"), len(self._whole))
        digits = digits.zfill(sum(at >= zero for at in places)) if digits or places else ""
        if not places:
            return "".join(token.text for token in self._whole)
        if self._grouped:
            digits = _grouped(digits)
        texts = [token.text for token in self._whole]
        together = self._grouped or places == list(range(places[0], places[-1] + 1))
        for at in reversed(places):
            texts[at] = "" if together else digits[-1:]
            digits = digits if together else digits[:-1]
        texts[places[0]] = digits + texts[places[0]]
        return "".join(texts)

    def _rest_text(self, decimals: str) -> str:
        """Write the decimals; those of # and ? at the end only if they are not 0."""
        wanted = [token.text for token in self._rest if token.kind is Kind.DIGIT]
        kept = len(wanted)
        while kept and wanted[kept - 1] != "0" and decimals[kept - 1] == "0":
            kept -= 1
        texts, used = [], 0
        for token in self._rest:
            if token.kind is Kind.DIGIT:
                texts.append(decimals[used] if used < kept else "")
                used += 1
            elif token.kind is not Kind.COMMA:
                texts.append(token.text)
        return "".join(texts)


class _Exponent:
    """A number with an exponent: 1.23E+04. A whole number that may be a phone is shown in full."""

    def __init__(self, tokens: Sequence[Token], at: int) -> None:
        self._mantissa = _Fixed(tokens[:at])
        self._step = sum(1 for token in _before_point(tokens[:at]) if token.kind is Kind.DIGIT) or 1
        self._plus = "+" if tokens[at].text.endswith("+") else ""
        after = tokens[at + 1 :]
        self._digits = sum(token.kind is Kind.DIGIT for token in after)
        self._after = "".join(token.text for token in after if token.kind is not Kind.DIGIT)

    def show(self, value: float) -> str:
        if may_be_phone(value, EXPONENT_DIGITS_MIN):
            return str(int(value))
        number = exact(value)
        exponent = number.adjusted() // self._step * self._step if number else 0
        mantissa = self._mantissa.show_decimal(number.scaleb(-exponent))
        if self._step == 1 and mantissa.startswith("10"):  # rounded up
            exponent += 1
            mantissa = self._mantissa.show_decimal(number.scaleb(-exponent))
        sign = "-" if exponent < 0 else self._plus
        return f"{mantissa}E{sign}{abs(exponent):0{self._digits}d}{self._after}"


class _Fraction:
    """A number with a fraction: 1 1/2, 3/8. Places that only align are left out."""

    def __init__(self, tokens: Sequence[Token], slash: int) -> None:
        first = last = slash
        while first and tokens[first - 1].kind is Kind.DIGIT:
            first -= 1
        while last + 1 < len(tokens) and _is_denominator(tokens[last + 1]):
            last += 1
        below = "".join(token.text for token in tokens[slash + 1 : last + 1])
        self._fixed = int(below) if below.isdecimal() and int(below) else 0
        self._denominator_max = 10 ** len(below) - 1
        before = tokens[:first]
        places = [at for at, token in enumerate(before) if token.kind is Kind.DIGIT]
        self._has_whole = bool(places)
        start, end = (places[0], places[-1] + 1) if places else (len(before), len(before))
        self._zero = any(token.text == "0" for token in before[start:end])
        self._prefix = "".join(token.text for token in before[:start])
        self._suffix = "".join(token.text for token in tokens[last + 1 :])

    def show(self, value: float) -> str:
        number = Fraction(exact(value))
        if self._fixed:
            nearest = Fraction(_half_up(number * self._fixed), self._fixed)
        else:
            nearest = number.limit_denominator(self._denominator_max)
        whole = int(nearest) if self._has_whole else 0
        rest = nearest - whole
        # A fixed denominator is not reduced: 2/4.
        below = self._fixed or rest.denominator
        above = rest.numerator * (below // rest.denominator)
        parts = [str(whole)] if self._has_whole and (whole or self._zero or not above) else []
        if above or not self._has_whole:
            parts.append(f"{above}/{below}")
        return f"{self._prefix}{' '.join(parts)}{self._suffix}"


def may_be_phone(value: float, digits_min: int) -> bool:
    return value.is_integer() and 10 ** (digits_min - 1) <= value < 10**PHONE_DIGITS_MAX


def _fraction_at(tokens: Sequence[Token]) -> int | None:
    """Return the place of a slash between two numbers."""
    for at in range(1, len(tokens) - 1):
        if tokens[at].kind is Kind.SLASH and tokens[at - 1].kind is Kind.DIGIT:
            return at if _is_denominator(tokens[at + 1]) else None
    return None


def _is_denominator(token: Token) -> bool:
    return token.kind is Kind.DIGIT or (token.kind is Kind.LITERAL and token.text.isdecimal())


def _before_point(tokens: Sequence[Token]) -> Sequence[Token]:
    return tokens[: next((at for at, token in enumerate(tokens) if token.kind is Kind.POINT), len(tokens))]


def _trailing_commas(tokens: Sequence[Token]) -> tuple[list[Token], int]:
    """Take off the commas after the last digit, or before the point: each divides by a thousand."""
    kept: list[Token] = []
    commas = 0
    for at, token in enumerate(tokens):
        after = next((other.kind for other in tokens[at + 1 :] if other.kind is not Kind.COMMA), None)
        if token.kind is Kind.COMMA and after is not Kind.DIGIT:
            commas += 1
        else:
            kept.append(token)
    return kept, commas


def _template(whole: Sequence[Token], rest: Sequence[Token], *, grouped: bool) -> str:
    """Return a template of Python for the usual formats, five times as fast: one run of places before the
    point, at least one of them 0, and only zeros after it; else an empty text.
    """
    places = [at for at, token in enumerate(whole) if token.kind is Kind.DIGIT]
    zeros = sum(whole[at].text == "0" for at in places)
    decimals = list(takewhile(lambda token: token.kind is Kind.DIGIT, rest[1:]))
    after = rest[len(decimals) + 1 :]
    if (
        not zeros
        or places != list(range(places[0], places[0] + len(places)))
        or any(whole[at].text == "0" for at in places[: len(places) - zeros])
        or (grouped and zeros > 1)
        or any(token.text != "0" for token in decimals)
        or any(token.kind is Kind.DIGIT for token in after)
    ):
        return ""
    width = zeros + len(decimals) + bool(decimals)
    point = "." if rest and not decimals else ""
    number = f"{{:{',' if grouped else f'0{width}'}f}}{point}"
    return _literal(whole[: places[0]]) + number + _literal(whole[places[-1] + 1 :]) + _literal(after)


def _literal(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens).replace("{", "{{").replace("}", "}}")


def _grouped(digits: str) -> str:
    if len(digits) <= 3:
        return digits
    return f"{_grouped(digits[:-3])},{digits[-3:]}"


def _rounded(number: Decimal, decimals: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _EXACT_CONTEXT)


def _half_up(number: Fraction) -> int:
    return int(number + Fraction(1, 2))
