import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Logger } from 'pino';
import { BUILD, textOfBuild } from '../../platform/build.ts';
import { createLog } from '../../platform/log.ts';
import { within } from '../../platform/scheduling/within.ts';
import { connectionAttempts } from '../../protocol/mqtt/connection-attempts.ts';
import type { StartReport } from '../first-broker.ts';
import { startService } from '../service.ts';
import { type Cli, NegativeResult } from './terminal.ts';
import { endStart, returnMemory } from './v8-flags.ts';

export async function serve({ config, out, isTerminal, isOutTerminal, stop, onBug }: Cli): Promise<void> {
  const log = await createLog(config, isTerminal);
  // The process exits and its supervisor restarts it. Acknowledged data is not lost.
  onBug((error) => log.fatal({ err: error }, 'exiting after an uncaught error'));
  const { report, services, close } = await startService(config, { log });
  endStart();
  const isConnecting = () => connectionAttempts.hasPromising;
  const endReturns = returnMemory(services.runtimes.countLinks, { isConnecting });
  const isText = (config.logFormat ?? (isOutTerminal ? 'pretty' : 'json')) === 'pretty';
  // What is not for a terminal is stored as a log, which more people read than may have the password.
  if (isText && isOutTerminal) out(startMessage(report));
  else {
    const passwordFile = join(config.dataDir, 'first-password');
    if (report.rootPassword) writePassword(passwordFile, report.rootPassword, log);
    out(isText ? startMessage(report, passwordFile) : startLine(report, passwordFile));
  }
  // The first GET or event stream would load it otherwise, while others wait: 0.2 s of processor time in one piece.
  if (config.role !== 'worker') void import('../../gateway/graphql/yoga/yoga-server.ts');
  if (!stop.aborted) await once(stop, 'abort');
  log.info('stopping');
  endReturns();
  const maxMs = config.shutdownDelayMs + STOP_MS;
  const late = new Error(`The service did not stop within ${maxMs / 1_000} s`);
  try {
    await within(maxMs, close(), () => late);
  } catch (error) {
    if (error !== late) throw error;
    log.error(late.message);
    throw new NegativeResult();
  }
  log.info('stopped');
}

/**
 * Maximum time to stop after SHUTDOWN_DELAY_MS. Supervisors kill after about 30 s, and the log would not show that the
 * process was stuck.
 */
const STOP_MS = 20_000;

/** The account exists already, so that a failure must not end the service. */
function writePassword(
  file: string,
  { email, generated }: NonNullable<StartReport['rootPassword']>,
  log: Logger,
): void {
  try {
    writeFileSync(file, generated, { mode: 0o600 });
  } catch (err) {
    log.error({ err, file }, `the first password could not be written: run brokergraph user reset-password ${email}`);
  }
}

/** The start message as a line of the log. */
function startLine({ rootPassword, ...report }: StartReport, passwordFile: string): string {
  const firstPassword = rootPassword && { email: rootPassword.email, file: passwordFile };
  const line = { level: 30, time: Date.now(), ...report, firstPassword, build: textOfBuild(BUILD) };
  return `${JSON.stringify({ ...line, msg: 'Brokergraph is ready' })}\n`;
}

/** `passwordFile`: where the generated password is. Default: in the message. */
export function startMessage(report: StartReport, passwordFile: string | null = null): string {
  const { url, mqtt, mqttProblem, unusedPorts, rootPassword, passwordsOnlyFor } = report;
  const lines = [
    '',
    'Brokergraph is ready',
    `  Version   ${textOfBuild(BUILD)}`,
    `  Console   ${url}/`,
    `  GraphQL   ${url}/graphql`,
    `  REST      ${url}/api   (documentation: ${url}/api/docs)`,
  ];
  if (mqtt) {
    lines.push(`  MQTT      ${mqtt.url}   user ${mqtt.username}, password in ${relative('', mqtt.passwordFile)}`);
    if (mqtt.wsUrl) lines.push(`            ${mqtt.wsUrl}`);
    for (const tlsUrl of mqtt.tlsUrls) lines.push(`            ${tlsUrl}   (requires a deployed certificate)`);
  } else if (mqttProblem) lines.push(`  MQTT      does not run, and is tried again: ${mqttProblem}`);
  if (unusedPorts.length > 0) {
    const advice = 'the mutation updateListener changes them';
    lines.push(`            (not ${unusedPorts.join(' and ')}: a broker keeps its ports; ${advice})`);
  }
  if (rootPassword) {
    const place = passwordFile === null ? rootPassword.generated : `in ${relative('', passwordFile)}`;
    const next = passwordFile === null ? 'It is shown only once: save it, or change it' : 'Change it';
    lines.push('', `  Sign in as ${rootPassword.email} with the password ${place}`, `  ${next} in the console.`);
    if (passwordFile !== null) lines.push('  Delete the file afterwards.');
  }
  if (passwordsOnlyFor) {
    const { email, canSignIn } = passwordsOnlyFor;
    lines.push('', `  LOCAL_LOGIN is off: only ${email} can sign in with a password of this service.`);
    if (!canSignIn) {
      lines.push(
        '  No root administrator has that address and a password, so no user can. Set ROOT_EMAIL, or run',
        `  brokergraph user create ${email} --root   (or user reset-password, if the account exists)`,
      );
    }
  }
  return `${lines.join('\n')}\n\n`;
}
