/** The page of the examples: the brokers of a project with their bridges, clients and accounts. */
export const BROKERS = `query Brokers($projectId: ID!) {
  project(id: $projectId) {
    id
    brokers {
      nodes {
        id
        name
        isConnected
        viewerCanControlClients
        bridges { id key isActive }
        connectedClients(first: 50) { nodes { id clientId isConnected } }
        accounts(first: 50) { nodes { id username enabled } }
      }
    }
  }
}`;

/** Its events have the ids of the query, so a normalised cache updates the rows of the page. */
export const CLIENTS = `subscription Clients($brokerId: ID!, $after: SafeInt) {
  connectedClients(brokerId: $brokerId, after: $after) {
    kind
    sequence
    clients { id clientId isConnected }
    removedIds
  }
}`;

/** Accounts that anyone changes, also another administrator of the broker. */
export const ACCOUNTS = `subscription Accounts($brokerId: ID!) {
  accessControl(brokerId: $brokerId) {
    kind
    accounts { id username enabled }
    removedIds
  }
}`;
