import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { ProjectCache } from '../../projects/project-cache.ts';

/** Whether the payloads of a broker's topics are stored: a setting of its project. */
export interface TopicPayloads {
  areStored(): boolean;
  onChange(listener: () => void): Stop;
}

/** `undefined` for the project of a broker that is being removed. */
export function topicPayloadsOf(
  brokerId: string,
  brokers: Pick<BrokerCache, 'get'>,
  projects: Pick<ProjectCache, 'get' | 'onChange'>,
): TopicPayloads {
  const projectId = () => brokers.get(brokerId)?.projectId;
  return {
    areStored: () => projects.get(projectId() ?? '')?.topicPayloads === true,
    onChange: (listener) =>
      projects.onChange((after, before) => {
        if (after !== null && after.topicPayloads !== before?.topicPayloads && after.id === projectId()) listener();
      }),
  };
}
