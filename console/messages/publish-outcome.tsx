import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Published } from './message-graph.ts';
import { messageTexts } from './texts.ts';

/** What the broker reported about a message, in words. */
export function Outcome({ published }: { readonly published: Published }) {
  const text = useTexts(messageTexts);
  const numberText = useNumbers();
  const { outcome, reasonCode, protocolVersion, payloadBytes, remarks } = published;
  return (
    <div className="note" role="status">
      <p>
        {text(outcome)} {text('sentAs', { count: numberText(payloadBytes), version: protocolVersion })}
        {reasonCode !== null && ` ${text('reasonCode', { code: reasonCode })}`}
      </p>
      {remarks.map((remark) => (
        <p key={remark} lang="en">
          {remark}
        </p>
      ))}
    </div>
  );
}
