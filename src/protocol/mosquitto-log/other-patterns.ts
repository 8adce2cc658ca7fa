/** Lines that name neither a client that connects nor the end of a connection. Examples are lines of real brokers. */
interface LinePattern {
  readonly pattern: RegExp;
  readonly example: string;
}

/** The next line is the end of the connection. The group `detail` is the cause. */
export const CAUSE_PATTERNS: readonly LinePattern[] = [
  {
    pattern: /^OpenSSL Error(?: [^[]{0,100})?\[\d+\]: (?:error:[0-9A-F]+:)?(?<detail>.*)$/s,
    example: 'OpenSSL Error[0]: error:0A0000C7:SSL routines::peer did not return a certificate',
  },
  {
    pattern: /^Protocol error from (?:\S+:\d+: |.*?: |\S+:\d+ )(?<detail>.*)$/s,
    example: 'Protocol error from 127.0.0.1:46992: CONNECT with zero length clientid when forbidden.',
  },
  {
    pattern: /^(?<detail>Client from \S+:\d+ appears to be using TLS to connect to a non-TLS listener\.)$/,
    example: 'Client from 127.0.0.1:34720 appears to be using TLS to connect to a non-TLS listener.',
  },
  {
    pattern: /^(?<detail>Invalid (?:protocol (?:version \d+|".*")|Will QoS) in CONNECT from .*\.)$/s,
    example: 'Invalid protocol version 9 in CONNECT from 127.0.0.1.',
  },
  {
    pattern: /^(?<detail>(?:Invalid|Empty) (?:un)?subscription string from .*)$/s,
    example: 'Invalid subscription string from 127.0.0.1, disconnecting.',
  },
  {
    pattern:
      /^(?<detail>(?:Invalid QoS in|Too high QoS in PUBLISH|Invalid PUBLISH \(QoS=0 and DUP=1\)).* from .*, disconnecting\.)$/s,
    example: 'Invalid QoS in PUBLISH from qos-3, disconnecting.',
  },
  {
    pattern: /^(?<detail>Bad client .* sending multiple CONNECT messages\.)$/s,
    example: 'Bad client twice sending multiple CONNECT messages.',
  },
  {
    pattern: /^(?<detail>Connection rejected, corrupt PROXY header\.)$/,
    example: 'Connection rejected, corrupt PROXY header.',
  },
  {
    pattern: /^(?<detail>.* sent CONNECT with missing keepalive\.)$/s,
    example: '(null) sent CONNECT with missing keepalive.',
  },
  {
    // The second line of a cause.
    pattern: /^ {5}(?<detail>or attempted to continue authentication .*)$/,
    example: '     or attempted to continue authentication when no authentication in progress.',
  },
];

/** A connection that was refused before its first packet, with the groups `address` and `detail`. */
export const DENIED_PATTERNS: readonly LinePattern[] = [
  {
    pattern: /^Client connection from (?<address>\S+) denied: (?<detail>max_connections exceeded)\.$/,
    example: 'Client connection from 127.0.0.1 denied: max_connections exceeded.',
  },
  {
    pattern: /^Client connection from (?<address>\S+) (?<detail>denied access by tcpd)\.$/,
    example: 'Client connection from 127.0.0.1 denied access by tcpd.',
  },
  {
    pattern: /^Client connection from (?<address>\S+) failed: (?:error:[0-9A-F]+:)?(?<detail>.*?)\.?$/s,
    example: 'Client connection from 127.0.0.1 failed: error:0A0000C7:SSL routines::peer did not return a certificate.',
  },
  {
    pattern: /^Connection from (?<address>\S+?)(?::\d+)? rejected, (?<detail>.*?)\.?$/s,
    example: 'Connection from 127.0.0.1:46992 rejected, corrupt PROXY header.',
  },
];

/** Of no interest for clients. */
export const OTHER_PATTERNS: readonly LinePattern[] = [
  {
    pattern: /^mosquitto version \S+ terminating$/,
    example: 'mosquitto version 2.1.2 terminating',
  },
  {
    pattern: /^dynsec: /,
    example: 'dynsec: control/gateway | disableClient | username=kick-disableclient-tcp-4',
  },
  {
    pattern: /^Broker: .* \| (?:listListeners|listPlugins)$/s,
    example: 'Broker: control/gateway | listListeners',
  },
  {
    // What a proxy reports of a connection that is not admitted yet.
    pattern: /^Connection from \S+:\d+ negotiated \S+ cipher \S+$/,
    example: 'Connection from 203.0.113.9:55555 negotiated TLSv1.3 cipher TLS_AES_256_GCM_SHA384',
  },
  {
    pattern: /^Outgoing messages are being dropped for client .*\.$/s,
    example: 'Outgoing messages are being dropped for client slow-reader.',
  },
  {
    pattern: /^Client .* has exceeded its receive-maximum quota\. This behaviour must be fixed on the client\.$/s,
    example: 'Client rm-1 has exceeded its receive-maximum quota. This behaviour must be fixed on the client.',
  },
  {
    pattern:
      /^(?:Reused message ID \d+ from .* detected\. Clearing from storage\.|Dropping too large outgoing PUBLISH(?: for .*)? \(\d+ bytes\))$/s,
    example: 'Dropping too large outgoing PUBLISH for dev-5 (120 bytes)',
  },
  {
    pattern: /^ACL denying access to client with dangerous (?:username|client id) ".*"$/s,
    example: 'ACL denying access to client with dangerous client id "plant/7"',
  },
  {
    // Errors of the broker itself.
    pattern:
      /^(?:(?:Warning|Error|Load error|OCSP): |Error (?:in|when|whilst|during|loading|creating|setting|saving|opening|found at) |Out of memory\.$|Unable to (?:accept new connection, |start http api listener)|Could not activate OCSP |Failed (?:engine initialisation|to associate persisted user )|Plugin could not register callback )/,
    example: 'Warning: Unable to set TCP_NODELAY.',
  },
  {
    pattern:
      /^(?:Bridge \S+ (?:next backoff will be \d+ ms|connection was stable enough, resetting backoff)|Bridge connection .* has exceeded idle timeout, disconnecting\.|Duplicate bridge topic '.*', skipping)$/s,
    example: 'Bridge edge-1 next backoff will be 5000 ms',
  },
  {
    // What a start and a new configuration report.
    pattern:
      /^(?:Config loaded from |Loading (?:plugin: |config file )|Plugin (?:\S+ )?(?:has registered to |version \S+ loaded\.$|loaded\.$)|Opening .* listen socket on |Saving in-memory database to |Restored \d+ |Using http_dir |Creating default listener |It is best practice |You are using the '|Note: |Info: |The '\S+' option is now deprecated |\S+(?: interval)? too (?:low|high), using |TLS key logging |For more details see |Please be aware |If you are trying to bind |MOSQUITTO_UNSAFE_| {4,}\S| [├└]── )/,
    example: 'Opening ipv4 listen socket on port 1883.',
  },
  {
    pattern: /^(?:Bridge|Persistence|TLS|TLS-PSK|Websockets) support (?:NOT )?available\.$/,
    example: 'Websockets support available.',
  },
  {
    pattern: /^(?:Starting in local only mode\. .*|Create a configuration file .*|Using default config.*)$/,
    example: 'Using default config.',
  },
  {
    pattern: /^Connection Refused: /,
    example: 'Connection Refused: not authorised',
  },
];
