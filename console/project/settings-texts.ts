import { catalogue } from '../texts/texts.ts';

export const settingsTexts = catalogue({
  en: {
    owner: 'Owner',
    created: 'Created',
    id: 'Id',
    saved: 'The settings are saved.',
    hasStrictRoles: 'Strict roles.',
    hasStrictRolesHint: 'Changes of access control, streams, bridges and clients require an editor.',
    hasStrictRolesOn:
      'Viewers, and tokens with this role, can no longer change access control, streams, bridges and clients.',
    hasStrictRolesOff:
      'Viewers, and tokens with this role, can change access control, streams, bridges and clients by the operations that the REST interface allows them.',
    storesClusterPasswords: 'Store passwords of clusters.',
    storesClusterPasswordsHint: 'Encrypted, for nodes that are disconnected or join later.',
    storesClusterPasswordsOn: 'Only administrators may then add brokers to clusters, or change the address of a node.',
    storesClusterPasswordsOff:
      'The stored passwords are deleted. Nodes that join later have no passwords until they are set again.',
    storesTopicPayloads: 'Show last payloads in Topics.',
    storesTopicPayloadsHint: 'The beginning of the last payload of each topic.',
    storesTopicPayloadsOn: 'Editors see the last payloads of all recorded topics.',
    storesTopicPayloadsOff: 'The stored payloads are deleted.',
    deleteProject: 'Delete project',
    deleteOf: 'Delete {name}',
    deleted: '{name} is deleted.',
    deletedWith: 'The project is deleted with all that belongs to it. This cannot be undone:',
    brokersOf: 'brokers: {count}',
    ownBrokers:
      'of them run by this service, which stops and deletes them with all their data: {names}. {clients} clients are disconnected.',
    clustersOf: 'clusters: {count}',
    certificatesOf: 'certificates: {count}',
    membersOf: 'members, who lose their access: {count}',
    tokensOf: 'tokens, which end immediately: {count}',
    rulesOf: 'sign-in rules: {count}',
    othersContinue: 'Brokers that run elsewhere continue without this service.',
    enterName: 'Enter {name} to delete it',
  },
  de: {
    owner: 'Eigentümer',
    created: 'Angelegt',
    id: 'Id',
    saved: 'Die Einstellungen sind gespeichert.',
    hasStrictRoles: 'Strenge Rollen.',
    hasStrictRolesHint: 'Änderungen an Zugriffsrechten, Streams, Bridges und Clients brauchen einen Bearbeiter.',
    hasStrictRolesOn:
      'Betrachter und Token mit dieser Rolle können Zugriffsrechte, Streams, Bridges und Clients nicht mehr ändern.',
    hasStrictRolesOff:
      'Betrachter und Token mit dieser Rolle können Zugriffsrechte, Streams, Bridges und Clients mit den Operationen ändern, die ihnen die REST-Schnittstelle erlaubt.',
    storesClusterPasswords: 'Passwörter von Clustern speichern.',
    storesClusterPasswordsHint: 'Verschlüsselt, für Knoten, die getrennt sind oder später beitreten.',
    storesClusterPasswordsOn:
      'Nur Administratoren dürfen dann Broker zu Clustern hinzufügen oder die Adresse eines Knotens ändern.',
    storesClusterPasswordsOff:
      'Die gespeicherten Passwörter werden gelöscht. Knoten, die später beitreten, haben keine Passwörter, bis sie neu gesetzt werden.',
    storesTopicPayloads: 'Inhalte in Topic-Bäumen speichern.',
    storesTopicPayloadsHint: 'Den Anfang des letzten Inhalts jedes Topics.',
    storesTopicPayloadsOn: 'Bearbeiter sehen die letzten Inhalte aller aufgezeichneten Topics.',
    storesTopicPayloadsOff: 'Die gespeicherten Inhalte werden gelöscht.',
    deleteProject: 'Projekt löschen',
    deleteOf: '{name} löschen',
    deleted: '{name} ist gelöscht.',
    deletedWith: 'Das Projekt wird mit allem gelöscht, was dazu gehört. Das lässt sich nicht rückgängig machen:',
    brokersOf: 'Broker: {count}',
    ownBrokers:
      'davon von diesem Dienst betrieben, der sie beendet und mit allen Daten löscht: {names}. {clients} Clients werden getrennt.',
    clustersOf: 'Cluster: {count}',
    certificatesOf: 'Zertifikate: {count}',
    membersOf: 'Mitglieder, die ihren Zugang verlieren: {count}',
    tokensOf: 'Token, die sofort enden: {count}',
    rulesOf: 'Anmelderegeln: {count}',
    othersContinue: 'Broker, die anderswo laufen, arbeiten ohne diesen Dienst weiter.',
    enterName: 'Geben Sie zum Löschen {name} ein',
  },
});
