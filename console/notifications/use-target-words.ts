import { useTexts } from '../texts/texts.ts';
import type { Channel } from './channel-graph.ts';
import { channelTexts } from './texts.ts';

/** Where a channel sends, in words. */
export function useTargetWords(): (channel: Channel) => string {
  const text = useTexts(channelTexts);
  return ({ kind, webhook, email, mqtt }) => {
    const address =
      webhook?.origin ?? email?.to.join(', ') ?? `${mqtt?.topic} · ${mqtt?.broker?.name ?? text('noBrokerLeft')}`;
    return `${text(kind)}: ${address}`;
  };
}
