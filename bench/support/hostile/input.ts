/** Types of hostile inputs. `Target` is sent to other processes as JSON. */

export interface Target {
  readonly host: string;
  readonly httpPort: number;
  readonly mqttPort: number;
  readonly projectId: string;
  readonly brokerId: string;
  readonly viewer: string;
  /** Project token with the role VIEWER, restricted to one broker. */
  readonly restricted: string;
  /** Project token with the role ADMIN. */
  readonly projectAdmin: string;
  /** Session of the root administrator: hostile brokers are added with it, no input attacks with it. */
  readonly admin: string;
  /** MQTT account that may publish and subscribe everywhere but below `$`. */
  readonly device: Account;
  /** Loopback address that attackers connect from: limits per network must not mix them with the healthy client. */
  readonly from: string;
}

interface Account {
  readonly username: string;
  readonly password: string;
}

/** One run of a hostile input. Returns a short text about the reaction of the service. Equal texts are counted. */
type Attack = (target: Target, run: number) => Promise<string>;

export interface Input {
  /** Unique name without spaces, which selects the input on the command line. */
  readonly name: string;
  readonly what: string;
  /** Maximum number of runs at the same time when the input is repeated. Default: 4. */
  readonly atOnce?: number;
  readonly attack: Attack;
}

export interface Group {
  readonly who: string;
  readonly inputs: readonly Input[];
}
