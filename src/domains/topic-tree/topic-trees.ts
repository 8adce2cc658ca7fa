import type { Closers } from '../../platform/closers.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ProjectDirectory } from '../projects/project-directory.ts';
import { KeptPayloads } from './hosting/kept-payloads.ts';
import { TopicThread } from './hosting/topic-thread.ts';
import { topicTreeHosting } from './hosting/topic-tree-hosting.ts';
import { TopicService, type TopicServiceOptions } from './topic-service.ts';

export interface TopicTreesOptions extends HostingParts {
  readonly projects: ProjectDirectory;
  /** Of one broker's trees and payloads in memory. */
  readonly maxBytes: number;
  /** The compiled worker; undefined: beside its module. */
  readonly workerUrl: URL | undefined;
  readonly closers: Closers;
}

/** The parts of topic trees, put together in two steps: links to brokers need to know what runs beside them, and the service needs links. */
export interface TopicTrees {
  readonly hosting: Hosting;
  /** Of which brokers payloads are kept, also for those that record topics themselves. */
  readonly payloads: KeptPayloads;
  connect(runtimes: BrokerRuntimes, nodes: Required<Pick<TopicServiceOptions, 'nodesOf'>>): TopicService;
}

export async function openTopicTrees(options: TopicTreesOptions): Promise<TopicTrees> {
  const { projects, maxBytes, workerUrl, closers, ...parts } = options;
  const { brokers: directory, log } = parts;
  const thread = closers.keep(new TopicThread({ workerUrl, log }));
  const payloads = new KeptPayloads(directory, projects);
  const hosting = closers.keep(topicTreeHosting({ ...parts, payloads, thread, maxBytes }));
  await hosting.load();
  const onFault = (error: unknown) => log.error({ err: error }, 'topics could not be followed');
  return {
    hosting,
    payloads,
    connect: (runtimes, { nodesOf }) =>
      closers.keep(new TopicService({ runtimes, directory, projects, nodesOf, onFault })),
  };
}
