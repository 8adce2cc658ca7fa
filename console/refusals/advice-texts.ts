import type { RefusalReason } from './reason-texts.ts';

/** Why access was denied. */
type DenialKey = 'deniedByRule' | 'deniedByWildcards' | 'deniedByDefault' | 'deniedByBroker';
/** Parts of sentences. */
type PartKey = 'named' | 'ofGroup' | 'accountHolder' | 'anonymousHolder';

export type AdviceKey = Exclude<RefusalReason, 'ACCESS_DENIED'> | DenialKey;

/**
 * Translations of what an operator can do about a refusal; the graph has the English text. `{name}` and `{id}` are
 * quoted names with a space before, or empty.
 */
export const adviceTexts: Readonly<Record<'de', Readonly<Record<AdviceKey | PartKey, string>>>> = {
  de: {
    named: ' „{name}“',
    ofGroup: ' der Gruppe „{group}“',
    accountHolder: 'dem Konto „{name}“',
    anonymousHolder: 'der anonymen Gruppe',
    UNKNOWN_ACCOUNT:
      'Legen Sie das Konto{name} an, oder berichtigen Sie den Benutzernamen im Client: Bei Benutzernamen zählt Groß- und Kleinschreibung.',
    WRONG_PASSWORD: 'Berichtigen Sie das Passwort im Client, oder setzen Sie ein neues Passwort des Kontos{name}.',
    PASSWORD_MISSING: 'Tragen Sie das Passwort des Kontos{name} im Client ein.',
    USERNAME_MISSING:
      'Tragen Sie im Client einen Benutzernamen und ein Passwort ein. Um Clients ohne Benutzernamen zuzulassen, legen Sie eine anonyme Gruppe fest.',
    ACCOUNT_DISABLED: 'Aktivieren Sie das Konto{name}.',
    CLIENT_ID_OF_ACCOUNT:
      'Das Konto{name} ist an eine andere Client-Id gebunden. Berichtigen Sie die Client-Id{id} im Client oder die Client-Id des Kontos.',
    NOT_AUTHORIZED:
      'Der Broker meldet nicht, welche Prüfung fehlschlug. Prüfen Sie, ob das Konto vorhanden, aktiviert und nicht an eine andere Client-Id gebunden ist, danach das Passwort und clientid_prefixes in mosquitto.conf.',
    THROTTLED:
      'Aus diesem Netz oder für dieses Konto kamen zu viele Anmeldungen mit falschem Passwort. Berichtigen Sie das Passwort in den Clients; richtige Anmeldungen werden nach höchstens fünf Minuten wieder angenommen.',
    BUSY: 'Der Broker prüft zu viele Anmeldungen gleichzeitig. Der Client kann es nach einigen Sekunden wieder versuchen, mit wachsendem Abstand.',
    CLIENT_ID_REJECTED:
      'Tragen Sie im Client eine Client-Id ein, oder lassen Sie ihn eine neue Sitzung (Clean Session) anfordern: MQTT 3 verlangt für eine dauerhafte Sitzung eine Client-Id. Client-Ids dieses Dienstes (`brokergraph-` und die Id des Brokers) sind ihm vorbehalten.',
    SESSION_OF_ACCOUNT:
      'Die Client-Id{id} gehört einem anderen Konto, das die Liste der Clients nennt. Tragen Sie im Client eine andere Client-Id ein oder das Konto, dem die Sitzung gehört. Hat der Client sein Konto gewechselt, beenden Sie die Sitzung mit jenem Konto (Clean Session), oder löschen Sie jenes Konto.',
    TAKEN_OVER:
      'Mehrere Clients verwenden die Client-Id{id}, zuletzt von {place} und von {otherPlace}. Tragen Sie in allen außer einem eine andere Client-Id ein. Sind sie ein Gerät, so betreibt es seinen MQTT-Client doppelt.',
    WILL_REJECTED:
      'Berichtigen Sie im Client das Topic des letzten Willens: Es muss ein gültiger Topic-Name ohne Platzhalter sein und darf nicht unter $CONTROL liegen.',
    TOO_MANY_CONNECTIONS:
      'Schließen Sie unbenutzte Verbindungen, oder erhöhen Sie die größte Zahl der Verbindungen des Brokers oder des Listeners.',
    TOO_MANY_SESSIONS:
      'Löschen Sie unbenutzte dauerhafte Sitzungen, oder legen Sie in den Clients einen Ablauf der Sitzung fest: Der Broker speichert keine weiteren Sitzungen.',
    NO_CONNECT:
      'Der Client öffnete eine Verbindung und sendete nicht rechtzeitig CONNECT. Prüfen Sie, ob er MQTT benutzt und ob ein Proxy seine Daten verzögert.',
    PROTOCOL_VERSION:
      'Stellen Sie im Client eine Protokollversion ein, die der Broker unterstützt: MQTT 3.1, 3.1.1 oder 5.',
    PROTOCOL_ERROR:
      'Der Client hält sich nicht an das Protokoll. Prüfen Sie, was der Broker meldet und ob der Client an diesem Port MQTT benutzt, und aktualisieren Sie seine MQTT-Bibliothek.',
    MALFORMED_PACKET:
      'Der Client sendete ein Paket, das kein MQTT ist. Prüfen Sie, was der Broker meldet und ob der Client an diesem Port MQTT benutzt, und aktualisieren Sie seine MQTT-Bibliothek.',
    PACKET_TOO_LARGE: 'Senden Sie kleinere Nachrichten, oder erhöhen Sie die größte Paketgröße des Brokers.',
    NOT_SUPPORTED:
      'Der Client benutzt eine Funktion, die der Broker nicht unterstützt, etwa eine QoS, Retained-Nachrichten oder erweiterte Authentifizierung. Stellen Sie den Client ohne diese Funktion ein.',
    TLS_ON_PLAIN_LISTENER:
      'Der Client benutzt TLS an einem Listener ohne TLS. Benutzen Sie den Port eines TLS-Listeners, oder schalten Sie TLS aus.',
    PLAIN_ON_TLS_LISTENER:
      'Der Client benutzt an einem TLS-Listener kein TLS. Schalten Sie TLS im Client ein, oder benutzen Sie einen anderen Port.',
    TLS_CERTIFICATE_MISSING:
      'Der Listener verlangt ein Client-Zertifikat. Hinterlegen Sie im Client ein Zertifikat und seinen Schlüssel.',
    TLS_CERTIFICATE_NOT_TRUSTED:
      'Der Listener vertraut dem Client-Zertifikat nicht. Lassen Sie es von einer Zertifizierungsstelle des Listeners ausstellen, oder fügen Sie seine Zertifizierungsstelle dem Listener hinzu.',
    TLS_CERTIFICATE_EXPIRED:
      'Ersetzen Sie das Client-Zertifikat, und prüfen Sie die Uhren des Brokers und des Clients.',
    TLS_REFUSED_BY_CLIENT:
      'Der Client beendete den Handshake. Meist vertraut er dem Zertifikat des Brokers nicht: Hinterlegen Sie im Client die Zertifizierungsstelle dieses Zertifikats, und verbinden Sie ihn mit einem Hostnamen des Zertifikats.',
    TLS_INCOMPATIBLE:
      'Client und Listener haben keine TLS-Version oder Chiffre gemeinsam. Aktualisieren Sie die TLS-Bibliothek des Clients: TLS 1.2 ist nötig.',
    TLS_TIMEOUT:
      'Der TLS-Handshake wurde nicht rechtzeitig beendet. Prüfen Sie das Netz und ob der Client TLS benutzt.',
    TLS_NOT_CONFIGURED: 'Der TLS-Listener hat kein Server-Zertifikat. Verteilen Sie ein Zertifikat auf ihn.',
    TLS_FAILED:
      'Der TLS-Handshake schlug fehl. Prüfen Sie, was der Broker meldet, und vergleichen Sie die TLS-Einstellungen beider Seiten.',
    WEBSOCKET_REQUEST: 'Benutzen Sie im Client das WebSocket-Unterprotokoll mqtt.',
    INVALID_TOPIC: 'Berichtigen Sie das Topic oder den Topic-Filter im Client: MQTT erlaubt es nicht.',
    TOO_MANY_SUBSCRIPTIONS:
      'Beenden Sie Abonnements des Clients, oder benutzen Sie Filter mit Platzhaltern: Die größte Zahl der Abonnements ist erreicht.',
    TOO_MANY_RETAINED:
      'Löschen Sie unbenutzte Retained-Nachrichten: Die größte Zahl der Retained-Nachrichten ist erreicht.',
    BROKER_ERROR: 'Der Broker konnte den Client nicht bedienen. Das Protokoll des Dienstes enthält den Fehler.',
    OTHER: 'Prüfen Sie, was der Broker meldet.',
    deniedByRule:
      'Die Rolle „{role}“{ofGroup} hat eine Regel mit Priorität {priority}, die „{filter}“ verbietet. Ändern Sie diese, oder geben Sie {holder} eine Rolle mit höherer Priorität und einer Regel, die es erlaubt.',
    deniedByWildcards:
      'Die Rolle „{role}“{ofGroup} verbietet Abonnements mit Platzhaltern. Abonnieren Sie einzelne Topics, oder erlauben Sie Platzhalter in der Rolle.',
    deniedByDefault:
      'Keine Regel erlaubt es, und der vorgegebene Zugriff verbietet es. Geben Sie {holder} eine Rolle mit einer Regel, die es erlaubt.',
    deniedByBroker:
      'Benutzen Sie im Client ein anderes Topic: Der Broker behält sich dieses vor, unabhängig von den Zugriffsregeln.',
  },
};
