import { useTexts } from '../texts/texts.ts';
import { listenerText } from './certificates-query.ts';
import { certificateTexts } from './texts.ts';

interface Listener {
  readonly port: number;
  readonly bindAddress: string | null;
}

export interface BrokerResult {
  readonly brokerId: string;
  readonly broker: { readonly name: string } | null;
  readonly error: string | null;
  readonly succeed: readonly Listener[];
  readonly failed: readonly (Listener & { readonly error: string })[];
}

export const isDone = (results: readonly BrokerResult[]): boolean =>
  results.every(({ error, failed }) => error === null && failed.length === 0);

/** What each broker reported for each listener. */
export function Results({ results }: { readonly results: readonly BrokerResult[] }) {
  const text = useTexts(certificateTexts);
  return (
    <div role="status">
      {results.map(({ brokerId, broker, error, succeed, failed }) => (
        <ul key={brokerId}>
          {error !== null && <li>{text('brokerFailed', { broker: broker?.name ?? brokerId, error })}</li>}
          {succeed.map((listener) => (
            <li key={listenerText(listener)}>
              {text('succeeded', { broker: broker?.name ?? brokerId, port: listenerText(listener) })}
            </li>
          ))}
          {failed.map((listener) => (
            <li key={listenerText(listener)}>
              {text('failed', {
                broker: broker?.name ?? brokerId,
                port: listenerText(listener),
                error: listener.error,
              })}
            </li>
          ))}
        </ul>
      ))}
    </div>
  );
}
