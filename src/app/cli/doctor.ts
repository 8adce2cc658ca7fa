import { STREAM_API } from '../../data-plane/streams/control/stream-control.ts';
import { TOPIC_API } from '../../data-plane/topic-tree/control/topic-control.ts';
import { clientControlPlugin } from '../../domains/clients/control/client-control-plugin.ts';
import { inspectPlugin } from '../../domains/clients/inspect/inspect-plugin.ts';
import { checkLdapSettings } from '../../domains/sign-in/ldap/ldap-settings-check.ts';
import { checkOidcSettings } from '../../domains/sign-in/oidc/oidc-settings-check.ts';
import { redirectUriOf } from '../../domains/sign-in/oidc/oidc-sign-in.ts';
import type { SettingCheck } from '../../domains/sign-in/setting-check.ts';
import { ldapOptions, oidcOptions } from '../../domains/sign-in/sign-in.ts';
import { withoutNulls } from '../../platform/without-nulls.ts';
import { licensePlugin } from '../../protocol/apis/license.ts';
import { BrokerControls } from '../../protocol/control/broker-controls.ts';
import { KNOWN_APIS } from '../../protocol/control/capability-probe.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import { type ControlCapability, ControlRefusal, type PluginFactory } from '../../protocol/control/plugin.ts';
import { BrokerLink } from '../../protocol/mqtt/broker-link.ts';
import { whenConnected } from '../../protocol/mqtt/when-connected.ts';
import { type BrokerFacts, brokerFacts, lacksControlApi, pluginAdvice } from './doctor-broker.ts';
import { readTextFile } from './files.ts';
import { type Cli, type JsonOption, NegativeResult, print, shown, table } from './terminal.ts';

interface DoctorOptions extends JsonOption {
  readonly username?: string;
  readonly passwordFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly insecure?: boolean;
}

interface Report extends BrokerFacts {
  readonly mqttVersion: string;
  readonly capabilities: readonly ControlCapability[];
  readonly advice: readonly string[];
}

/** Slower acknowledgements waited for Nagle's algorithm and the delayed ACK of TCP (40 ms). */
const SLOW_ACK_MS = 25;

/** The service hosts these APIs for every broker without them. The doctor calls none of them. */
const hostedByService = (api: ControlApi): PluginFactory => ({
  api,
  create: async () => ({
    api,
    execute: () => {
      throw new ControlRefusal('Not available in the doctor');
    },
    close: async () => undefined,
  }),
});

/** Connects to a broker like the service and prints what its configuration lacks. Errors: BROKER_UNREACHABLE. */
export async function doctor(cli: Cli, url: string, options: DoctorOptions): Promise<void> {
  const { brokerTimeoutMs: timeoutMs } = cli.config;
  const files = [options.passwordFile, options.ca, options.cert, options.key];
  const [password, ca, cert, key] = await Promise.all(files.map((file) => file && readTextFile(file)));
  const link = new BrokerLink({
    id: 'doctor',
    url,
    timeoutMs,
    verifyCa: !options.insecure,
    ...withoutNulls({ username: options.username, password: password?.trim(), ca, cert, key }),
  });
  link.open();
  const hosted = [hostedByService(STREAM_API), hostedByService(TOPIC_API)];
  const plugins = [inspectPlugin, clientControlPlugin, licensePlugin, ...hosted];
  const controls = new BrokerControls(link, { timeoutMs, plugins });
  try {
    await whenConnected(link, timeoutMs);
    const capabilities = await Promise.all(KNOWN_APIS.map((api) => controls.capability(api)));
    const facts = await brokerFacts(link, controls);
    const report: Report = {
      ...facts,
      mqttVersion: link.protocolVersion === 5 ? '5' : '3.1.1',
      capabilities,
      advice: [...reasons(capabilities, facts), ...pluginAdvice(facts), ...(await slowAcknowledgement(link))],
    };
    print(cli, options, { connected: true, ...report }, asText(report));
  } finally {
    await controls.close();
    await link.close();
  }
}

const reasons = (capabilities: readonly ControlCapability[], { brokerVersion }: BrokerFacts) =>
  capabilities
    .filter(({ reasonCode }) => reasonCode !== 'CONTROL_API_DISABLED' || !lacksControlApi(brokerVersion))
    .filter(({ reason }) => reason !== undefined)
    .map(({ api, reason }) => `${api}: ${reason}`);

async function slowAcknowledgement(link: BrokerLink): Promise<string[]> {
  try {
    const started = performance.now();
    await link.publish(`brokergraph/doctor/${link.clientId}`, '', { qos: 1 });
    if (performance.now() - started < SLOW_ACK_MS) return [];
    return [
      'Acknowledgements are slow: set_tcp_nodelay true in mosquitto.conf makes QoS 1 about a hundred times faster',
    ];
  } catch {
    return [];
  }
}

function asText({ mqttVersion, brokerVersion, plugins, capabilities, advice, logGaps }: Report): string {
  const rows = capabilities.map(({ api, provider }) => [
    api,
    { BROKER: 'the broker', GATEWAY: 'this service', NONE: '-' }[provider],
  ]);
  const list =
    advice.length === 0
      ? 'Nothing is missing.\n'
      : `Recommendations:\n${advice.map((line) => `  - ${shown(line)}\n`).join('')}`;
  const connected = `Connected with MQTT ${mqttVersion} to ${shown(brokerVersion ?? 'a broker of unknown version')}.`;
  const apis = table([['API', 'SERVED BY'], ...rows]);
  return `${connected}\nPlugins: ${pluginsText(plugins)}.\n\n${apis}\n${list}${gapsText(logGaps)}`;
}

function pluginsText(plugins: BrokerFacts['plugins']): string {
  if (plugins === null) return 'unknown, because the broker does not list them';
  if (plugins.length === 0) return 'none';
  return plugins.map(({ name, version }) => shown(version === null ? name : `${name} ${version}`)).join(', ');
}

const gapsText = (gaps: readonly string[]): string =>
  gaps.length === 0 ? '' : `\nThe log of this version does not contain:\n${gaps.map((gap) => `  - ${gap}\n`).join('')}`;

/** Tests the sign-in providers of the settings and prints the findings. Errors: NegativeResult if a test fails. */
export async function examineSettings(cli: Cli, options: JsonOption & { readonly login?: string }): Promise<void> {
  const { config } = cli;
  const oidc = oidcOptions(config);
  const ldap = ldapOptions(config);
  const publicUrl =
    config.publicUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  const checks = (
    await Promise.all([
      oidc === null ? [] : checkOidcSettings(oidc, redirectUriOf(publicUrl)),
      ldap === null ? [] : checkLdapSettings(ldap, options.login ?? null),
    ])
  ).flat();
  const findings = checks.map(({ setting, works, messages }) => ({ setting, works, told: messages }));
  print(cli, options, { findings }, findingsText(checks));
  if (checks.some(({ works }) => !works)) throw new NegativeResult();
}

function findingsText(checks: readonly SettingCheck[]): string {
  if (checks.length === 0) return 'Nothing to test: neither OIDC_ISSUER nor LDAP_URL is set.\n';
  return table(
    checks.flatMap(({ setting, works, messages }) =>
      messages.map((line, i) => (i === 0 ? [setting, works ? 'works' : 'FAILS', line] : ['', '', line])),
    ),
  );
}
