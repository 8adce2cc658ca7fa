import { useParams } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { ChannelForm } from './channel-form.tsx';
import { CHANNELS } from './channel-graph.ts';
import { ChannelList } from './channel-list.tsx';
import { ChannelPage } from './channel-page.tsx';
import { useChannelPlace } from './channel-place.ts';
import { channelTexts } from './texts.ts';
import './style.css';

/** Other administrators change channels, and messages are delivered. */
const EVERY_MS = 5_000;

/** The notification channels of a project or of the service; below their address one of them, or a form. */
export function Channels() {
  const text = useTexts(channelTexts);
  const { projectId } = useChannelPlace();
  const { '*': rest = '' } = useParams<{ '*': string }>();
  const [id = '', action] = rest.split('/');
  const { data, error, renew } = useQuery(CHANNELS, { projectId }, EVERY_MS);
  if (data === null) return <Problem error={error} />;
  const channels = data.notificationChannels;
  if (id === '') return <ChannelList channels={channels} onChanged={renew} />;
  if (id === 'new') return <ChannelForm key="new" channel={null} onSaved={renew} />;
  const channel = channels.find((one) => one.id === id);
  if (channel === undefined) return <p role="alert">{text('noChannel')}</p>;
  if (action === 'edit') return <ChannelForm key={id} channel={channel} onSaved={renew} />;
  return <ChannelPage key={id} channel={channel} onChanged={renew} />;
}
