import { once } from 'node:events';
import { relative } from 'node:path';
import type { Config } from '../../platform/config/config.ts';
import { createLog } from '../../platform/log.ts';
import { type StartReport, startService } from '../service.ts';
import { releaseHeap } from './heap.ts';
import type { Terminal } from './terminal.ts';

/** Runs the service until the process is asked to end. */
export async function serve(config: Config, { out, isTerminal, stop, onBug }: Terminal): Promise<void> {
  const log = await createLog(config, isTerminal);
  // The process ends then, and whoever supervises it starts it anew: nothing that was acknowledged is lost by that.
  onBug((error) => log.fatal({ err: error }, 'ended by a bug'));
  const service = await startService(config, { log });
  releaseHeap();
  out(startMessage(service.report));
  if (!stop.aborted) await once(stop, 'abort');
  log.info('stopping');
  await withinStopTime(service.close());
  log.info('stopped');
}

/** Supervisors kill after some 30 s, and then nobody would learn that it was stuck. */
const STOP_MS = 20_000;

async function withinStopTime(closing: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The service did not stop within ${STOP_MS / 1_000} s`)), STOP_MS);
  });
  await Promise.race([closing, late]).finally(() => clearTimeout(timer));
}

export function startMessage(report: StartReport): string {
  const { url, mqtt, mqttPortWanted, unusedPorts, rootPassword, passwordsOnlyFor } = report;
  const lines = [
    '',
    'Brokergraph is ready',
    `  GraphQL   ${url}/graphql`,
    `  REST      ${url}/api   (documentation: ${url}/api/docs)`,
  ];
  if (mqtt) {
    lines.push(`  MQTT      ${mqtt.url}   user ${mqtt.username}, password in ${relative('', mqtt.passwordFile)}`);
    if (mqtt.wsUrl) lines.push(`            ${mqtt.wsUrl}`);
    for (const tlsUrl of mqtt.tlsUrls) lines.push(`            ${tlsUrl}   (with a certificate that is deployed)`);
    if (mqttPortWanted !== null) lines.push(`            (port ${mqttPortWanted} is taken by another program)`);
    if (unusedPorts.length > 0) {
      lines.push(`            (made with these ports; ${unusedPorts.join(' and ')} would count for a new broker only)`);
    }
  }
  if (rootPassword) {
    lines.push(
      '',
      `  Sign in as ${rootPassword.email} with the password ${rootPassword.generated}`,
      '  It is shown this once: note it, or change it (mutation changePassword).',
    );
  }
  if (passwordsOnlyFor) {
    const { email, canSignIn } = passwordsOnlyFor;
    lines.push('', `  LOCAL_LOGIN is off: with a password of this service only ${email} signs in.`);
    if (!canSignIn) {
      lines.push(
        '  There is no root administrator of that address with a password: nobody signs in that way. Set ROOT_EMAIL, or run',
        `  brokergraph user create ${email} --root   (or user reset-password, if the account is there)`,
      );
    }
  }
  return `${lines.join('\n')}\n\n`;
}
