import type { Closers } from '../../platform/closers.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import { type TopicPayloads, topicPayloadsOf } from './hosting/topic-payloads.ts';
import { TopicThread } from './hosting/topic-thread.ts';
import { topicTreeHosting } from './hosting/topic-tree-hosting.ts';
import { TopicService, type TopicServiceOptions } from './topic-service.ts';

interface TopicTreesOptions extends HostingParts {
  readonly brokers: BrokerCache;
  readonly projects: ProjectCache;
  /** Maximum memory of the trees and payloads of one broker. */
  readonly maxBytes: number;
  /** URL of the compiled worker. `undefined`: next to its module. */
  readonly workerUrl: URL | undefined;
  readonly closers: Closers;
}

/**
 * The parts of topic trees. They are created in two steps: connections to brokers need the hosting, and the service
 * needs the connections.
 */
interface TopicTrees {
  readonly hosting: Hosting;
  /** Payload policy, also for brokers that record topics themselves. */
  readonly payloadsOf: (brokerId: string) => TopicPayloads;
  connect(runtimes: BrokerRuntimes, nodes: Required<Pick<TopicServiceOptions, 'nodesOf'>>): TopicService;
}

export async function openTopicTrees(options: TopicTreesOptions): Promise<TopicTrees> {
  const { projects, maxBytes, workerUrl, closers, ...parts } = options;
  const { brokers: directory, log } = parts;
  const thread = closers.keep(new TopicThread({ workerUrl, log }));
  const payloadsOf = (brokerId: string) => topicPayloadsOf(brokerId, directory, projects);
  const hosting = closers.keep(topicTreeHosting({ ...parts, payloadsOf, thread, maxBytes }));
  await hosting.load();
  const onFault = (error: unknown) => log.error({ err: error }, 'topics could not be followed');
  return {
    hosting,
    payloadsOf,
    connect: (runtimes, { nodesOf }) =>
      closers.keep(new TopicService({ runtimes, directory, projects, nodesOf, onFault })),
  };
}
