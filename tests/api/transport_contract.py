"""What every transport keeps, whatever it is built on. A test module of its own names each factory.

The server is real and misbehaves; the judge is what it read: nothing read means NotSent or Unknown, anything
read means never NotSent, and no payload is ever read twice.
"""

from .contract_of_connections import ConnectionsContract
from .contract_of_gates import GatesContract
from .contract_of_replies import RepliesContract
from .contract_of_strays import StraysContract


class TransportContract(RepliesContract, StraysContract, ConnectionsContract, GatesContract):
    """Subclass it with a fixture `factory`."""
