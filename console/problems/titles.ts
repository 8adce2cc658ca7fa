import { useContext } from 'react';
import { Language } from '../texts/texts.ts';
import type { ShownProblem } from './operations.ts';

type Kind = ShownProblem['kind'];

/** The graph has the English titles. */
export const GERMAN_TITLES: Readonly<Record<Kind, string>> = {
  AUDIT_WAITING: 'Einträge des Audits warten auf die Datenbank',
  BRIDGE_DOWN: 'Eine Bridge ist nicht verbunden',
  BRIDGE_DROPPING: 'Eine Bridge verliert Nachrichten',
  BRIDGE_LOOP: 'Nachrichten einer Bridge gehen im Kreis',
  BRIDGE_QUEUE_FILLING: 'Die Warteschlange einer Bridge füllt sich',
  BROKER_RIGHTS_MISSING: 'Dem Konto dieses Dienstes fehlen Rechte',
  BROKER_UNAUTHORIZED: 'Der Broker lehnt die Zugangsdaten dieses Dienstes ab',
  BROKER_UNREACHABLE: 'Der Broker ist nicht erreichbar',
  CAPABILITY_MISSING: 'Eine Funktion des Brokers ist nicht verfügbar',
  CERTIFICATE_EXPIRING: 'Ein Zertifikat läuft ab',
  CLIENT_FLOODING: 'Ein Client sendet sehr viele Nachrichten',
  CLIENT_ID_CONFLICT: 'Mehrere Clients benutzen eine Client-Id',
  CLOUD_BROKER_ERROR: 'Ein Broker dieses Dienstes läuft nicht',
  CLUSTER_DRIFTED: 'Ein Knoten eines Clusters weicht ab',
  CLUSTER_NODE_DOWN: 'Ein Knoten eines Clusters ist nicht erreichbar',
  DATABASE_AWAY: 'Die Datenbank antwortet nicht',
  DATABASE_SLOW: 'Die Datenbank ist langsam',
  DISK_LOW: 'Der Platz auf dem Datenträger wird knapp',
  LINK_LIMIT: 'Eine Verbindung zu einem Broker erreicht ihre Grenzen',
  LIST_INCOMPLETE: 'Die Liste der Clients ist unvollständig',
  LOG_NOT_UNDERSTOOD: 'Das Log des Brokers hat Zeilen, die dieser Dienst nicht versteht',
  PROCESS_AWAY: 'Ein Prozess dieses Dienstes ist nicht da',
  QUEUES_DROPPING: 'Der Broker verwirft Nachrichten für langsame Clients',
  REFUSALS_RISING: 'Der Broker weist viele Clients ab',
  RETAINED_LIMIT: 'Der Broker hat fast die größte Zahl gespeicherter Nachrichten',
  STREAM_FAILING: 'Ein Stream kann Nachrichten nicht verarbeiten',
  STREAM_NOT_STORING: 'Ein Stream speichert keine Nachrichten',
  TOKEN_EXPIRING: 'Ein Token läuft ab',
};

/** The title of a problem in the language of the person. */
export function useProblemTitle(): (problem: Pick<ShownProblem, 'kind' | 'title'>) => string {
  const language = useContext(Language);
  return ({ kind, title }) => (language === 'de' ? (GERMAN_TITLES[kind] ?? title) : title);
}
