import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import type { CapabilityReasonCode } from '../../protocol/control/capability-reason.ts';

export const CapabilityReasonType = describedEnum<CapabilityReasonCode>(
  'BrokerCapabilityReason',
  'Why a control API of a broker is limited or not available. Later versions may add values.',
  {
    CLIENTS_UNKNOWN: 'This service cannot follow the clients of the broker.',
    CONTROL_API_DISABLED: 'The control API of Mosquitto 2.1 is disabled or missing.',
    LICENSE_MISSING: 'The licence of the broker does not include the API.',
    LOG_MISSING: 'The broker has no log that this service can follow.',
    LOG_NOT_PUBLISHED: 'Mosquitto does not publish its log over MQTT.',
    LOG_NOT_UNDERSTOOD: 'The log of the broker has lines that this service does not understand.',
    LOG_PERMISSION_MISSING: 'The user of this service may not read the log of the broker.',
    LOG_WITHOUT_CONNECTIONS: 'The log of Mosquitto does not contain connections.',
    LOG_WITHOUT_DETAILS: 'The log of Mosquitto does not contain all refusals and their details.',
    NODES_SEPARATE: 'The nodes of the cluster do not exchange messages.',
    NOT_OFFERED: 'The broker does not offer the API.',
    NO_CERTIFICATE_MANAGEMENT: 'The broker reads its certificates from files only.',
    NO_CLUSTER_PLUGIN: 'The broker has no cluster plugin.',
    NO_DYNAMIC_SECURITY: 'The broker has not loaded the plugin for dynamic security.',
    NO_TAKEOVER: 'This service cannot take over sessions of the broker.',
    ONLY_TAKEOVER:
      'Clients can be disconnected only by a takeover of their session, if the settings of the broker allow it.',
    OTHER_PROCESS: 'Another process of this service serves the API.',
    PERMISSION_MISSING: 'The user of this service may not use the topics of the API.',
  },
);
