import { builder } from '../../gateway/graphql/builder.ts';
import type { CapabilityReasonCode } from '../../protocol/control/capability-reason.ts';

export const CapabilityReasonType = builder.enumType('BrokerCapabilityReason', {
  description: 'Why a control API of a broker is limited or not available. Later versions may add values.',
  values: {
    CLIENTS_UNKNOWN: { description: 'This service cannot follow the clients of the broker.' },
    CONTROL_API_DISABLED: { description: 'The control API of Mosquitto 2.1 is disabled or missing.' },
    LICENSE_MISSING: { description: 'The licence of the broker does not include the API.' },
    LOG_MISSING: { description: 'The broker has no log that this service can follow.' },
    LOG_NOT_PUBLISHED: { description: 'Mosquitto does not publish its log over MQTT.' },
    LOG_NOT_UNDERSTOOD: { description: 'The log of the broker has lines that this service does not understand.' },
    LOG_PERMISSION_MISSING: { description: 'The user of this service may not read the log of the broker.' },
    LOG_WITHOUT_CONNECTIONS: { description: 'The log of Mosquitto does not contain connections.' },
    LOG_WITHOUT_DETAILS: { description: 'The log of Mosquitto does not contain all refusals and their details.' },
    NODES_SEPARATE: { description: 'The nodes of the cluster do not exchange messages.' },
    NOT_OFFERED: { description: 'The broker does not offer the API.' },
    NO_CERTIFICATE_MANAGEMENT: { description: 'The broker reads its certificates from files only.' },
    NO_CLUSTER_PLUGIN: { description: 'The broker has no cluster plugin.' },
    NO_DYNAMIC_SECURITY: { description: 'The broker has not loaded the plugin for dynamic security.' },
    NO_TAKEOVER: { description: 'This service cannot take over sessions of the broker.' },
    ONLY_TAKEOVER: {
      description:
        'Clients can be disconnected only by a takeover of their session, if the settings of the broker allow it.',
    },
    OTHER_PROCESS: { description: 'Another process of this service serves the API.' },
    PERMISSION_MISSING: { description: 'The user of this service may not use the topics of the API.' },
  } as const satisfies Readonly<Record<CapabilityReasonCode, object>>,
});
