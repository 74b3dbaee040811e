"""One coin per group: the families of randomized response and the channels they make."""

from tacit.core.channel.channel import Channel as Channel
from tacit.core.channel.families import *  # noqa: F403
