import { catalogue } from '../texts/texts.ts';

export const settingsTexts = catalogue('project/settings', {
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
  history: 'History of brokers',
  historyMeans:
    'Metrics, events of clients and what was denied are stored for all projects together, by settings of the service: the oldest are deleted first.',
  historyDays: 'Stored for days',
  historySince: 'Begins',
  historySize: 'Size',
  historyOf: '{bytes} of at most {most}',
  deleteProject: 'Delete project',
  deleteOf: 'Delete {name}',
  deleted: '{name} is deleted.',
  deletedWith: 'The project is deleted with all that belongs to it. This cannot be undone:',
  brokersOf: 'brokers: {count}',
  ownBrokers:
    'of them run by this service, which stops and deletes them with all their data: {names}. {clients} {clients:client is|clients are} disconnected.',
  clustersOf: 'clusters: {count}',
  certificatesOf: 'certificates: {count}',
  membersOf: 'members, who lose their access: {count}',
  tokensOf: 'tokens, which end immediately: {count}',
  rulesOf: 'sign-in rules: {count}',
  othersContinue: 'Brokers that run elsewhere continue without this service.',
  enterName: 'Enter {name} to delete it',
});
