import { CLIENTS } from '../documents.mjs';
import { print } from '../settings.mjs';
import { webSocket } from '../web-socket.mjs';

// The client sends this object again after each reconnect. With the `sequence` of the last event the service continues
// there (kind RESUMED) instead of sending all clients again (kind SNAPSHOT).
const variables = { brokerId: process.env.BROKER_ID ?? '', after: undefined };

webSocket.subscribe(
  { query: CLIENTS, variables },
  {
    next: ({ data, errors }) => {
      const event = data?.connectedClients;
      if (event) variables.after = event.sequence;
      print(errors ? { error: errors[0].extensions.code } : { event: event.kind, sequence: event.sequence });
    },
    // A CloseEvent with 4403 if the credentials have ended: sign in again.
    error: (error) => print({ closed: error.code ?? String(error) }),
    complete: () => print({ complete: true }),
  },
);
