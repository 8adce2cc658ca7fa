import type { RequestContext } from '../../../gateway/context.ts';
import { mayAskBroker } from '../../../gateway/graphql/walk-limit.ts';
import type { ClientView } from '../client-view.ts';
import type { ConnectedClientDetail } from '../inspect/inspect-data.ts';

/** A field of the detail: of a single client it is at hand, of a client in a list the broker is asked (once per client). */
export function detail<T>(
  client: ClientView,
  context: RequestContext,
  read: (detail: ConnectedClientDetail) => T,
): T | Promise<T | null> {
  if (client.isDetailed) return read(client.known);
  const mayAsk = () => mayAskBroker(context, client.isOneOfMany);
  return client.readDetail(mayAsk).then((known) => known && read(known));
}
