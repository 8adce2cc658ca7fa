/**
 * The thread of all recorders of topics beside brokers, so that a busy broker delays nobody's requests. A bug in it ends it with an error,
 * and the service starts it again.
 */
import { serveThread } from '../../../protocol/hosting/serve-thread.ts';
import { TopicHosts } from './topic-hosts.ts';
import type { TopicNews, TopicOrder, TopicThreadQuestion } from './topic-protocol.ts';

serveThread<TopicOrder, TopicThreadQuestion, TopicNews>((voice) => new TopicHosts(voice));
