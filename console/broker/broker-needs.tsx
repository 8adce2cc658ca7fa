import { useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { connectionTexts } from './connection-texts.ts';

interface BrokerNeedsProps {
  /** The address as far as it is known. */
  readonly url: string;
  /** The account of this service at the broker. Empty: a suggested one. */
  readonly username: string;
}

/** What a Mosquitto must be configured with, so that this service can manage it. */
export function BrokerNeeds({ url, username }: BrokerNeedsProps) {
  const text = useTexts(connectionTexts);
  return (
    <details className="broker-needs">
      <summary>{text('brokerNeeds')}</summary>
      <p>{text('needsConfiguration')}</p>
      <CommandToCopy command={CONFIGURATION} />
      <p>{text('needsAccount')}</p>
      <CommandToCopy command={accountCommands(url, username)} />
    </details>
  );
}

const LOG_TYPES = ['error', 'warning', 'notice', 'information', 'subscribe', 'unsubscribe'];

const ACCOUNTS = '/var/lib/mosquitto/dynamic-security.json';

/** Mosquitto 2.0 does not start without the file. */
const CONFIGURATION = [
  `# Before, once: mosquitto_ctrl dynsec init ${ACCOUNTS} admin`,
  `# and: chown mosquitto: ${ACCOUNTS}`,
  'allow_anonymous false',
  'plugin /usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so',
  `plugin_opt_config_file ${ACCOUNTS}`,
  'connection_messages true',
  'log_dest topic',
  ...LOG_TYPES.map((type) => `log_type ${type}`),
].join('\n');

/** In quotes, a name is one word of the shell, and no part of a command. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

function accountCommands(url: string, username: string): string {
  const { hostname, port } = URL.canParse(url) ? new URL(url) : { hostname: '', port: '' };
  const account = quoted(username === '' ? 'gateway' : username);
  return `ctrl() { mosquitto_ctrl -h ${hostname || '127.0.0.1'} -p ${port || 1883} -u admin -P "$ADMIN_PASSWORD" dynsec "$@"; }
ctrl createClient ${account} -p "$PASSWORD"
ctrl createRole gateway
ctrl addRoleACL gateway publishClientSend '$CONTROL/#' allow
for filter in '$CONTROL/#' '$SYS/#' '#'; do
  for right in subscribePattern publishClientReceive; do ctrl addRoleACL gateway $right "$filter" allow; done
done
ctrl addClientRole ${account} gateway`;
}
