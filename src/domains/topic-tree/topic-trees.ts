import { TopicThread } from '../../data-plane/topic-tree/hosting/topic-thread.ts';
import { HostedPart } from '../../protocol/hosting/hosted-part.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import type { TopicPayloads } from './hosting/topic-payloads.ts';
import { topicTreeHosting } from './hosting/topic-tree-hosting.ts';
import { TopicService, type TopicServiceOptions } from './topic-service.ts';

interface TopicTreesOptions extends HostingParts, Pick<TopicServiceOptions, 'nodesOf'> {
  readonly brokers: BrokerCache;
  readonly projects: ProjectCache;
  readonly runtimes: BrokerRuntimes;
  readonly payloadsOf: (brokerId: string) => TopicPayloads;
  /** Maximum memory of the trees and payloads of one broker. */
  readonly maxBytes: number;
  /** URL of the compiled worker. `undefined`: next to its module. */
  readonly workerUrl: URL | undefined;
}

/** The topics of all brokers, and their recording for brokers that do not record topics themselves. */
export class TopicTrees extends HostedPart<TopicService> {
  readonly service: TopicService;
  protected readonly thread: TopicThread;
  protected readonly hosting: Hosting;

  constructor({ projects, nodesOf, payloadsOf, maxBytes, workerUrl, ...parts }: TopicTreesOptions) {
    super();
    const { brokers: brokerCache, runtimes, log } = parts;
    this.thread = new TopicThread({ workerUrl, log });
    this.hosting = topicTreeHosting({ ...parts, payloadsOf, thread: this.thread, maxBytes });
    const onFault = (error: unknown) => log.error({ err: error }, 'topics could not be followed');
    this.service = new TopicService({ runtimes, brokerCache, projects, nodesOf, onFault });
  }
}
