import type { introspection } from '../../src/generated/graph.d.ts';
import { catalogue } from '../texts/texts.ts';

type Kind = introspection['types']['ProblemKind']['enumValues'];

/** What an operator can do, by the kind of the problem. Some problems have more precise words of the service. */
export const helpTexts = catalogue<Kind>({
  en: {
    BROKER_UNREACHABLE:
      'Check that the broker runs, and that its address and port are correct and reachable from this service.',
    BROKER_UNAUTHORIZED: 'Correct the user name and the password in the settings of the broker, or enable the account.',
    BROKER_RIGHTS_MISSING: 'Give the missing rights to the account with which this service connects.',
    CAPABILITY_MISSING: 'The capabilities of the broker describe what is missing.',
    LOG_NOT_UNDERSTOOD: 'Update this service. Until then, lists of clients may be incomplete.',
    LIST_INCOMPLETE: 'Clients that connected before this service are listed when they connect again.',
    BRIDGE_DOWN: 'Check that the other side of the bridge runs, and the address and the credentials of the bridge.',
    BRIDGE_QUEUE_FILLING: 'Check why the other side of the bridge is slow or not connected, or forward fewer topics.',
    BRIDGE_DROPPING:
      'Check the queue and the rejected messages of the bridge: messages were dropped or cannot be delivered.',
    BRIDGE_LOOP: 'Remove the topic from one direction of the bridges, or give the directions different prefixes.',
    STREAM_FAILING: 'Compare the query of the stream with the messages: they may not be JSON, or lack a number.',
    STREAM_NOT_STORING: 'Free disk space, raise STREAM_STORAGE_MAX_MB, or shorten how long messages are stored.',
    REFUSALS_RISING: 'The refusals of the broker list each reason, and what would help.',
    CLIENT_ID_CONFLICT: 'Configure another client id in all of these clients but one.',
    CLIENT_FLOODING: 'Check the program of the client, disconnect it or disable its account, or raise the threshold.',
    QUEUES_DROPPING:
      'Check clients with long queues: they are slow or not connected. Delete their sessions, set a session expiry, or raise the limit of queued messages.',
    RETAINED_LIMIT: 'Delete retained messages that are not used: the limit of retained messages is reached.',
    CERTIFICATE_EXPIRING: 'Upload a new certificate in its place, and deploy it to the listeners.',
    TOKEN_EXPIRING: 'Rotate the token, and configure the new secret in the programs that use it.',
    CLUSTER_NODE_DOWN: 'Start the node, or check the network between this service and the node.',
    CLUSTER_DRIFTED:
      'Repair the node: this writes the access control of the cluster to it, or adopts that of the node.',
    CLOUD_BROKER_ERROR: 'Correct the cause that is named, then start the broker again.',
    PROCESS_AWAY: 'Start the process again. If it was removed on purpose, nothing needs to be done.',
    DATABASE_SLOW: 'Check the load and the disk of the database, and the network to it.',
    DATABASE_AWAY: 'Start the database, or check the network to it. Nothing can be changed until then.',
    DISK_LOW: 'Free space on the disk of the data folder, or shorten how long messages are stored.',
    AUDIT_WAITING: 'Check the database and its disk. If too many entries wait, all changes are refused.',
    LINK_LIMIT: 'Raise MAX_BROKER_LINKS, or remove brokers that are not used.',
  },
  de: {
    BROKER_UNREACHABLE:
      'Prüfen Sie, ob der Broker läuft, und ob Adresse und Port stimmen und von diesem Dienst aus erreichbar sind.',
    BROKER_UNAUTHORIZED:
      'Korrigieren Sie Benutzername und Passwort in den Einstellungen des Brokers, oder aktivieren Sie das Konto.',
    BROKER_RIGHTS_MISSING: 'Geben Sie dem Konto, mit dem sich dieser Dienst verbindet, die fehlenden Rechte.',
    CAPABILITY_MISSING: 'Die Funktionen des Brokers beschreiben, was fehlt.',
    LOG_NOT_UNDERSTOOD: 'Aktualisieren Sie diesen Dienst. Bis dahin können Listen von Clients unvollständig sein.',
    LIST_INCOMPLETE:
      'Clients, die sich vor diesem Dienst verbunden haben, stehen in der Liste, sobald sie sich neu verbinden.',
    BRIDGE_DOWN: 'Prüfen Sie, ob die andere Seite der Bridge läuft, und die Adresse und die Zugangsdaten der Bridge.',
    BRIDGE_QUEUE_FILLING:
      'Prüfen Sie, warum die andere Seite der Bridge langsam oder nicht verbunden ist, oder leiten Sie weniger Topics weiter.',
    BRIDGE_DROPPING:
      'Prüfen Sie die Warteschlange und die abgelehnten Nachrichten der Bridge: Nachrichten wurden verworfen oder sind nicht zustellbar.',
    BRIDGE_LOOP:
      'Nehmen Sie das Topic aus einer Richtung der Bridges, oder geben Sie den Richtungen verschiedene Präfixe.',
    STREAM_FAILING:
      'Vergleichen Sie die Abfrage des Streams mit den Nachrichten: Vielleicht sind sie kein JSON, oder eine Zahl fehlt.',
    STREAM_NOT_STORING:
      'Schaffen Sie Platz auf dem Datenträger, erhöhen Sie STREAM_STORAGE_MAX_MB, oder speichern Sie Nachrichten kürzer.',
    REFUSALS_RISING: 'Die Abgewiesenen des Brokers nennen jeden Grund, und was helfen würde.',
    CLIENT_ID_CONFLICT: 'Geben Sie allen diesen Clients bis auf einen eine andere Client-Id.',
    CLIENT_FLOODING:
      'Prüfen Sie das Programm des Clients, trennen Sie ihn, deaktivieren Sie sein Konto, oder erhöhen Sie den Schwellwert.',
    QUEUES_DROPPING:
      'Prüfen Sie Clients mit langen Warteschlangen: Sie sind langsam oder nicht verbunden. Löschen Sie ihre Sitzungen, begrenzen Sie deren Dauer, oder erlauben Sie mehr wartende Nachrichten.',
    RETAINED_LIMIT:
      'Löschen Sie gespeicherte Nachrichten (retained), die niemand braucht: Ihre größte Zahl ist erreicht.',
    CERTIFICATE_EXPIRING:
      'Laden Sie ein neues Zertifikat an seiner Stelle hoch, und liefern Sie es an die Listener aus.',
    TOKEN_EXPIRING:
      'Geben Sie dem Token ein neues Geheimnis, und tragen Sie es in den Programmen ein, die es benutzen.',
    CLUSTER_NODE_DOWN: 'Starten Sie den Knoten, oder prüfen Sie das Netz zwischen diesem Dienst und dem Knoten.',
    CLUSTER_DRIFTED:
      'Reparieren Sie den Knoten: Dabei erhält er die Zugriffsrechte des Clusters, oder der Cluster die des Knotens.',
    CLOUD_BROKER_ERROR: 'Beheben Sie die genannte Ursache, und starten Sie den Broker dann wieder.',
    PROCESS_AWAY: 'Starten Sie den Prozess wieder. Wenn er absichtlich entfernt wurde, ist nichts zu tun.',
    DATABASE_SLOW: 'Prüfen Sie die Last und den Datenträger der Datenbank, und das Netz zu ihr.',
    DATABASE_AWAY: 'Starten Sie die Datenbank, oder prüfen Sie das Netz zu ihr. Bis dahin lässt sich nichts ändern.',
    DISK_LOW: 'Schaffen Sie Platz auf dem Datenträger des Ordners für Daten, oder speichern Sie Nachrichten kürzer.',
    AUDIT_WAITING:
      'Prüfen Sie die Datenbank und ihren Datenträger. Wenn zu viele Einträge warten, werden alle Änderungen abgelehnt.',
    LINK_LIMIT: 'Erhöhen Sie MAX_BROKER_LINKS, oder entfernen Sie Broker, die niemand braucht.',
  },
});
