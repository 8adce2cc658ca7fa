import type { EmbeddedSettings } from '../../data-plane/broker/live-settings.ts';
import type { BrokerCache } from '../../domains/brokers/broker-cache.ts';
import type { TopicPayloads } from '../../domains/topic-tree/hosting/topic-payloads.ts';

/** The settings of an embedded broker that take effect while it runs: of its project, and of its own row. */
export function embeddedSettingsOf(
  brokerId: string,
  topicPayloads: TopicPayloads,
  brokers: Pick<BrokerCache, 'get' | 'onChange'>,
): EmbeddedSettings {
  return {
    current: () => ({
      storesTopicPayloads: topicPayloads.areStored(),
      bindsSessions: brokers.get(brokerId)?.boundSessions === true,
    }),
    onChange: (listener) => {
      const stopPayloads = topicPayloads.onChange(listener);
      const stopBroker = brokers.onChange((after, before) => {
        if (after?.id === brokerId && after.boundSessions !== before?.boundSessions) listener();
      });
      return () => {
        stopPayloads();
        stopBroker();
      };
    },
  };
}
