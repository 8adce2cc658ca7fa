import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';

const CLIENTS = graphql(`query KnownClients($id: ID!, $typed: String!) {
  broker(id: $id) { connectedClients(first: 20, filter: { value: $typed }) { nodes { id clientId username } } }
}`);

interface ClientSuggestionsProps {
  /** The `list` of the input. */
  readonly id: string;
  readonly typed: string;
}

/** Client ids that the broker knows, for an input. */
export function ClientSuggestions({ id, typed }: ClientSuggestionsProps) {
  const broker = useBroker();
  const { data } = useFresh(CLIENTS, { id: broker.id, typed }, 0);
  return (
    <datalist id={id}>
      {(data?.broker?.connectedClients?.nodes ?? []).map((client) => (
        <option key={client.id} value={client.clientId} label={client.username} />
      ))}
    </datalist>
  );
}
