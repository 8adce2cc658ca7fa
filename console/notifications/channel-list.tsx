import { BellRing } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { useBrokers } from '../problems/scope-fields.tsx';
import { useScopeWords } from '../problems/use-scope-words.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { ChannelActions } from './channel-actions.tsx';
import { CHANNELS, type ListedChannel } from './channel-graph.ts';
import { useChannelPlace } from './channel-place.ts';
import { DeliveryState } from './delivery-state.tsx';
import { channelTexts } from './texts.ts';
import { useTargetWords } from './use-target-words.ts';

interface ChannelListProps {
  readonly channels: readonly ListedChannel[];
  readonly onChanged: () => void;
}

/** Who is notified of which problems, and whether that works. */
export function ChannelList({ channels, onChanged }: ChannelListProps) {
  const text = useTexts(channelTexts);
  const { projectId, channelAddress } = useChannelPlace();
  const [, navigate] = useLocation();
  const targetText = useTargetWords();
  const scopeText = useScopeWords(useBrokers(projectId));
  const lastOf = ({ deliveries }: ListedChannel) => deliveries.nodes[0];
  const columns: Column<ListedChannel>[] = [
    {
      key: 'name',
      title: text('name'),
      cell: (channel) => (
        <>
          <Link href={channelAddress(channel.id)}>{channel.name}</Link>
          {!channel.isActive && <span className="tag">{text('off')}</span>}
        </>
      ),
      value: ({ name }) => name,
    },
    { key: 'target', title: text('target'), cell: targetText },
    { key: 'what', title: text('what'), cell: ({ rules }) => scopeText(rules) },
    {
      key: 'last',
      title: text('lastDelivery'),
      cell: (channel) => {
        const last = lastOf(channel);
        if (last === undefined) return <span className="quiet">{text('nothingYet')}</span>;
        return (
          <>
            <DeliveryState delivery={last} /> <Time isRelative={true} at={last.lastAttemptAt ?? last.createdAt} />
          </>
        );
      },
      value: (channel) => lastOf(channel)?.state,
    },
    {
      key: 'actions',
      title: text('actions'),
      cell: (channel) => <ChannelActions channel={channel} onChanged={onChanged} />,
    },
  ];
  const create = (
    <button type="button" className="primary" onClick={() => navigate(channelAddress('new'))}>
      {text('create')}
    </button>
  );
  return (
    <>
      {channels.length === 0 && (
        <Empty icon={BellRing} title={text('noChannels')}>
          <p>{text('noChannelsText')}</p>
          {create}
        </Empty>
      )}
      {channels.length > 0 && (
        <>
          <p>{create}</p>
          <Table label={text('channels')} columns={columns} rows={channels} keyOf={(channel) => channel.id} />
        </>
      )}
      <CopyAs document={CHANNELS} variables={{ projectId }} />
    </>
  );
}
