"""What was sent on each stream of a session, so that a client can take one up again."""

from mcp.server.streamable_http import EventMessage, EventStore


class Events(EventStore):
    def __init__(self):
        self.sent = []

    async def store_event(self, stream_id, message):
        self.sent.append((stream_id, message))
        return str(len(self.sent))

    async def replay_events_after(self, last_event_id, send_callback):
        if not last_event_id.isdecimal() or not 0 < int(last_event_id) <= len(self.sent):
            return None
        last = int(last_event_id)
        stream = self.sent[last - 1][0]
        for number, (other, message) in enumerate(self.sent[last:], last + 1):
            # The first event of a stream has no message: it only gives the client an id to come back with.
            if other == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
