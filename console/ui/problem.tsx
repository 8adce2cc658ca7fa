import { Fragment } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent, RefusedText } from './as-sent.tsx';
import { useCapabilityReason } from './use-capability-reason.tsx';

/** Shows that data is loading, or why it cannot be shown. */
export function Problem({ error }: { readonly error: RefusedError | null }) {
  const text = useTexts();
  if (error === null) return <p aria-busy="true">{text('loading')}</p>;
  // What a broker does not have is no failure of it.
  if (error.code === 'NOT_SUPPORTED_BY_BROKER') return <Unsupported error={error} />;
  return <Refusal error={error} />;
}

function Unsupported({ error: { message, info } }: { readonly error: RefusedError }) {
  const reasonOf = useCapabilityReason();
  const [api, reasonCode] = [info.api, info.reasonCode].map((value) => (typeof value === 'string' ? value : null));
  return <p className="note">{reasonOf({ api: api ?? '', reason: message, reasonCode: reasonCode ?? null })}</p>;
}

/** Further messages that are shown. Many fields can fail for different reasons. */
const MAX_OTHERS = 4;

/** What the service refused, in words, with the number of the request. Nothing without an error. */
export function Refusal({ error }: { readonly error: RefusedError | null }) {
  const text = useTexts();
  if (error === null) return null;
  const { others } = error;
  return (
    <p role="alert">
      {error.code === 'UNREACHABLE' ? text('unreachable') : <RefusedText error={error} />}
      {others.slice(0, MAX_OTHERS).map((other) => (
        <Fragment key={other}>
          <br />
          <AsSent>{other}</AsSent>
        </Fragment>
      ))}
      {others.length > MAX_OTHERS && ` ${text('moreErrors', { count: others.length - MAX_OTHERS })}`}
      {error.requestId !== null && <small> {text('request', { id: error.requestId })}</small>}
    </p>
  );
}
