import { useTexts } from '../texts/texts.ts';
import { WithTooltip } from '../ui/as-sent.tsx';
import type { Delivery } from './channel-graph.ts';
import { channelTexts } from './texts.ts';

/** As what the states of messages look like. */
const LOOKS: Readonly<Record<Delivery['state'], string>> = { DELIVERED: 'ACTIVE', PENDING: 'WAITING', DEAD: 'FAILED' };

/** Whether a message has arrived. One that waits after a failure says so. */
export function DeliveryState({ delivery: { state, error } }: { readonly delivery: Delivery }) {
  const text = useTexts(channelTexts);
  return (
    <WithTooltip className={`state ${LOOKS[state]}`} tooltip={error}>
      {text(state === 'PENDING' && error !== null ? 'FAILING' : state)}
    </WithTooltip>
  );
}
