/** Descriptions of fields that several types of the graph have. */

export const BROKER_ID = 'Id of the broker: `brk_…`.';
export const BROKER_NAME = 'Name of the broker: 1 to 200 characters. It need not be unique.';
export const PROJECT_ID = 'Id of the project to which the broker belongs.';
export const URL_OR_NULL = 'URL of the broker. Null for an installation without an address.';
export const IS_CONNECTED = 'Whether this service is connected to the broker now.';
export const CLUSTER_MODE = 'What the nodes share, if the broker represents a cluster; otherwise null.';
export const METRICS_ENABLED =
  'A setting that the REST interface documents. Default: true. The service records metrics of each broker regardless of it.';
export const CLIENT_TAKEOVER =
  'Whether this service may take over the session of a client for a moment, to disconnect, subscribe or unsubscribe a single client of a plain Mosquitto. This ends the connection of the client. QoS 0 messages that arrive meanwhile are lost, and queued messages that the user of this service may not receive.';
export const BINDS_SESSIONS =
  'Whether a session belongs to the account that created it: CONNECT of another account with the client id of a connected client or of a stored session is refused, with reason code 0x85 in MQTT 5 and return code 2 in MQTT 3. Sessions of clients without a user name belong to all such clients. The session of a deleted account is deleted when another account connects with its client id. A change takes effect immediately and disconnects no client. Only the embedded broker supports it. Default: false.';
export const ISSUED_TO = 'The customer that uses the broker: at most 200 characters.';
export const PRODUCT_ID = 'Id of the product: at most 200 characters.';
