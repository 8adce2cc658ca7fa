import { useParams } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { useProject } from '../project/project-context.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { ChannelForm } from './channel-form.tsx';
import { CHANNELS } from './channel-graph.ts';
import { ChannelList } from './channel-list.tsx';
import { ChannelPage } from './channel-page.tsx';
import { channelTexts } from './texts.ts';
import './style.css';

/** Other administrators change channels, and messages are delivered. */
const EVERY_MS = 5_000;

/** The notification channels of a project; below its address one of them, or a form. */
export function Notifications() {
  const text = useTexts(channelTexts);
  const { id: projectId } = useProject();
  const { '*': rest = '' } = useParams<{ '*': string }>();
  const [id = '', action] = rest.split('/');
  const variables = { projectId };
  const { data, error, renew } = useQuery(CHANNELS, variables, EVERY_MS);
  if (data === null) return <Problem error={error} />;
  const channels = data.notificationChannels;
  if (id === '') return <ChannelList channels={channels} onChanged={renew} />;
  if (id === 'new') return <ChannelForm key="new" channel={null} onSaved={renew} />;
  const channel = channels.find((one) => one.id === id);
  if (channel === undefined) return <p role="alert">{text('noChannel')}</p>;
  if (action === 'edit') return <ChannelForm key={id} channel={channel} onSaved={renew} />;
  return <ChannelPage key={id} channel={channel} onChanged={renew} />;
}
