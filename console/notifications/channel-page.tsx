import { useSearchParams } from 'wouter';
import { useBrokers } from '../problems/scope-fields.tsx';
import { useScopeWords } from '../problems/use-scope-words.ts';
import { useTexts } from '../texts/texts.ts';
import { PageHeading } from '../ui/page-heading.tsx';
import { Trail } from '../ui/trail.tsx';
import { ChannelActions } from './channel-actions.tsx';
import type { Channel } from './channel-graph.ts';
import { useChannelPlace } from './channel-place.ts';
import { Deliveries } from './deliveries.tsx';
import { channelTexts } from './texts.ts';
import { useTargetWords } from './use-target-words.ts';

/** A channel with its rules and its messages. */
export function ChannelPage({ channel, onChanged }: { readonly channel: Channel; readonly onChanged: () => void }) {
  const text = useTexts(channelTexts);
  const { projectId, channelAddress } = useChannelPlace();
  const targetText = useTargetWords();
  const scopeText = useScopeWords(useBrokers(projectId));
  const [search, setSearch] = useSearchParams();
  const { name, isActive, rules, webhook } = channel;
  const { changes, minimumSeconds, digestMinutes } = rules;
  return (
    <>
      <Trail label={text('trail')} steps={[{ title: text('channels'), address: channelAddress() }]} />
      <header className="screen">
        <PageHeading of="OBJECT">{name}</PageHeading>
        <span className={`state ${isActive ? 'ACTIVE' : 'stale'}`}>{text(isActive ? 'on' : 'off')}</span>
        <ChannelActions channel={channel} onChanged={onChanged} />
      </header>
      <dl>
        <dt>{text('target')}</dt>
        <dd>{targetText(channel)}</dd>
        {webhook && (
          <>
            <dt>{text('signature')}</dt>
            <dd>{text(webhook.isSigned ? 'isSigned' : 'isNotSigned')}</dd>
          </>
        )}
        <dt>{text('what')}</dt>
        <dd>{scopeText(rules)}</dd>
        <dt>{text('changes')}</dt>
        <dd>
          {text(changes)}
          {minimumSeconds > 0 && ` · ${text('lastsAtLeast', { count: minimumSeconds })}`}
          {digestMinutes > 0 && ` · ${text('collectedFor', { count: digestMinutes })}`}
        </dd>
      </dl>
      <Deliveries
        channelId={channel.id}
        state={search.get('state')}
        onState={(state) => setSearch(state === '' ? {} : { state }, { replace: true })}
      />
    </>
  );
}
