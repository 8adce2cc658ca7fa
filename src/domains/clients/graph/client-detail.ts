import type { RequestContext } from '../../../gateway/context.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import type { ClientView } from '../client-view.ts';
import type { ConnectedClientDetail } from '../inspect/inspect-data.ts';

/** Reads a field of the detail. A client in a list reads its detail from the broker, once for all its fields. */
export function detail<T>(
  client: ClientView,
  context: RequestContext,
  read: (detail: ConnectedClientDetail) => T,
): T | Promise<T | null> {
  if (client.isDetailed) return read(client.known);
  const mayAsk = () => mayQueryBroker(context, client.isOneOfMany);
  return client.readDetail(mayAsk).then((known) => known && read(known));
}
