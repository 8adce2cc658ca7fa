import type { introspection } from '../../src/generated/graph.d.ts';
import { catalogue } from './texts.ts';

/** A log that is not understood has the words of the service, with examples of its lines. */
type CapabilityReason = Exclude<introspection['types']['BrokerCapabilityReason']['enumValues'], 'LOG_NOT_UNDERSTOOD'>;

/** Why a control API of a broker is limited or not available, and the remedy. */
export const capabilityTexts = catalogue<CapabilityReason>('texts/capability', {
  CLIENTS_UNKNOWN: 'This service cannot follow the clients of the broker.',
  CONTROL_API_DISABLED: 'The broker does not serve this API: Mosquitto 2.1 does with enable_control_api true.',
  LICENSE_MISSING: 'The licence of the broker does not include this.',
  LOG_MISSING: 'The broker has no log that this service can follow.',
  LOG_NOT_PUBLISHED:
    'The broker does not publish its log over MQTT, so connected clients cannot be followed: set log_dest topic, log_type notice, log_type subscribe and log_type unsubscribe in mosquitto.conf.',
  LOG_PERMISSION_MISSING:
    'The broker does not allow this service to read its log: its user needs permission to subscribe to $SYS/broker/log/# and to receive there (subscribePattern and publishClientReceive in dynamic security).',
  LOG_WITHOUT_CONNECTIONS:
    'The broker publishes its log over MQTT without connections: set log_type notice and connection_messages true in mosquitto.conf.',
  LOG_WITHOUT_DETAILS:
    'Mosquitto reports denied connections in its log (log_dest topic with log_type notice; the reason of a failed TLS handshake with log_type error, of a wrong protocol version with log_type information). It does not report whether the account or the password is wrong. Mosquitto 2.0 reports no connections over WebSocket, and before 2.0.13 no client ids. It reports no denied publishes and subscriptions: “Check access” finds the rule that denies a topic.',
  NODES_SEPARATE:
    'The nodes of this cluster do not exchange messages, so this would receive the messages of only one node: use the brokers of its nodes.',
  NOT_OFFERED: 'The broker does not offer {api}.',
  NO_CERTIFICATE_MANAGEMENT:
    'The broker has no certificate management: Mosquitto reads certificates from the files in its configuration, at start and at SIGHUP. Brokers run by this service and brokers with the commercial plugin accept certificates from this service.',
  NO_CLUSTER_PLUGIN: 'The broker has no cluster plugin.',
  NO_DYNAMIC_SECURITY:
    'The broker has no dynamic security: load the plugin with plugin …/mosquitto_dynamic_security.so and plugin_opt_config_file.',
  NO_TAKEOVER: 'This service cannot take over sessions of the broker.',
  ONLY_TAKEOVER:
    'Clients of this broker can be disconnected only by taking over their sessions, if the settings of the broker allow that: it has no dynamic security.',
  OTHER_PROCESS: 'Another process of this service serves this.',
  PERMISSION_MISSING:
    'The broker does not allow this service to use {api}: its user needs permission to publish to $CONTROL/{api}/v1 and to read $CONTROL/{api}/v1/response (publishClientSend, and subscribePattern and publishClientReceive in dynamic security).',
});
