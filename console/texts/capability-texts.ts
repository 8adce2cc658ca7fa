import type { introspection } from '../../src/generated/graph.d.ts';
import { catalogue } from './texts.ts';

/** A log that is not understood has the words of the service, with examples of its lines. */
type CapabilityReason = Exclude<introspection['types']['BrokerCapabilityReason']['enumValues'], 'LOG_NOT_UNDERSTOOD'>;

/** Why a control API of a broker is limited or not available, and the remedy. */
export const capabilityTexts = catalogue<CapabilityReason>({
  en: {
    CLIENTS_UNKNOWN: 'This service cannot follow the clients of the broker.',
    CONTROL_API_DISABLED: 'The broker does not serve this API: Mosquitto 2.1 does with enable_control_api true.',
    LICENSE_MISSING: 'The licence of the broker does not include this.',
    LOG_MISSING: 'The broker has no log that this service can follow.',
    LOG_NOT_PUBLISHED:
      'The broker does not publish its log over MQTT, so connected clients cannot be followed: set log_dest topic, log_type notice, log_type subscribe and log_type unsubscribe in mosquitto.conf.',
    LOG_PERMISSION_MISSING:
      'The broker does not allow this service to read its log: its user needs subscribePattern and publishClientReceive on $SYS/broker/log/#.',
    LOG_WITHOUT_CONNECTIONS:
      'The broker publishes its log over MQTT without connections: set log_type notice and connection_messages true in mosquitto.conf.',
    LOG_WITHOUT_DETAILS:
      'Mosquitto reports refused connections in its log (log_dest topic with log_type notice; the reason of a failed TLS handshake with log_type error, of a wrong protocol version with log_type information). It does not report whether the account or the password is wrong. Mosquitto 2.0 reports no connections over WebSocket, and before 2.0.13 no client ids. It reports no denied publishes and subscriptions: “Why” finds the rule that denies a topic.',
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
      'The broker does not allow this service to use {api}: its user needs publishClientSend on $CONTROL/{api}/v1, and subscribePattern and publishClientReceive on $CONTROL/{api}/v1/response.',
  },
  de: {
    CLIENTS_UNKNOWN: 'Dieser Dienst kann die Clients des Brokers nicht verfolgen.',
    CONTROL_API_DISABLED:
      'Der Broker bietet diese Schnittstelle nicht an: Mosquitto 2.1 tut es mit enable_control_api true.',
    LICENSE_MISSING: 'Die Lizenz des Brokers umfasst dies nicht.',
    LOG_MISSING: 'Der Broker hat kein Protokoll, das dieser Dienst verfolgen kann.',
    LOG_NOT_PUBLISHED:
      'Der Broker veröffentlicht sein Protokoll nicht über MQTT, daher lassen sich verbundene Clients nicht verfolgen: Setzen Sie log_dest topic, log_type notice, log_type subscribe und log_type unsubscribe in mosquitto.conf.',
    LOG_PERMISSION_MISSING:
      'Der Broker erlaubt diesem Dienst nicht, sein Protokoll zu lesen: Sein Benutzer braucht subscribePattern und publishClientReceive für $SYS/broker/log/#.',
    LOG_WITHOUT_CONNECTIONS:
      'Der Broker veröffentlicht sein Protokoll über MQTT ohne Verbindungen: Setzen Sie log_type notice und connection_messages true in mosquitto.conf.',
    LOG_WITHOUT_DETAILS:
      'Mosquitto meldet abgewiesene Verbindungen in seinem Protokoll (log_dest topic mit log_type notice; den Grund eines fehlgeschlagenen TLS-Handshakes mit log_type error, einer falschen Protokollversion mit log_type information). Es meldet nicht, ob das Konto oder das Passwort falsch ist. Mosquitto 2.0 meldet keine Verbindungen über WebSocket, und vor 2.0.13 keine Client-Ids. Verbotene Veröffentlichungen und Abonnements meldet es nicht: „Warum“ findet die Regel, die ein Topic verbietet.',
    NODES_SEPARATE:
      'Die Knoten dieses Clusters tauschen keine Nachrichten aus, daher würden nur die Nachrichten eines Knotens empfangen: Benutzen Sie die Broker seiner Knoten.',
    NOT_OFFERED: 'Der Broker bietet {api} nicht an.',
    NO_CERTIFICATE_MANAGEMENT:
      'Der Broker verwaltet keine Zertifikate: Mosquitto liest sie aus den Dateien in seiner Konfiguration, beim Start und bei SIGHUP. Broker dieses Dienstes und Broker mit dem kommerziellen Plugin nehmen Zertifikate von diesem Dienst an.',
    NO_CLUSTER_PLUGIN: 'Der Broker hat kein Plugin für Cluster.',
    NO_DYNAMIC_SECURITY:
      'Der Broker hat keine Dynamic Security: Laden Sie das Plugin mit plugin …/mosquitto_dynamic_security.so und plugin_opt_config_file.',
    NO_TAKEOVER: 'Dieser Dienst kann Sitzungen des Brokers nicht übernehmen.',
    ONLY_TAKEOVER:
      'Clients dieses Brokers lassen sich nur trennen, indem ihre Sitzungen übernommen werden, falls die Einstellungen des Brokers das erlauben: Er hat keine Dynamic Security.',
    OTHER_PROCESS: 'Das bedient ein anderer Prozess dieses Dienstes.',
    PERMISSION_MISSING:
      'Der Broker erlaubt diesem Dienst nicht, {api} zu benutzen: Sein Benutzer braucht publishClientSend für $CONTROL/{api}/v1 sowie subscribePattern und publishClientReceive für $CONTROL/{api}/v1/response.',
  },
});
