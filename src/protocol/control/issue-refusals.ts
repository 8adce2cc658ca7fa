import { type InputIssue, invalid, issuesInfo, ServiceError } from '../../platform/errors.ts';
import { ControlRefusal } from './plugin.ts';

/** Throws a refusal of a command if there are issues. Over MQTT only its text is sent, with the first issue. */
export function refuseIssues(issues: readonly InputIssue[], omitted?: number): void {
  const [first] = issues;
  if (first === undefined) return;
  const info = issuesInfo(issues, omitted);
  throw new ControlRefusal(`Invalid ${first.path}: ${first.reason}`, { code: 'INVALID', info });
}

/** Restores the input issue (path and reason) of a refusal from its text: a response over MQTT has only the text. */
export function withIssue(error: ServiceError): ServiceError {
  if (error.code !== 'INVALID' || error.info?.issues !== undefined) return error;
  const [, path, reason] = /^Invalid (\/\S*): (.+)$/s.exec(String(error.info?.brokerError)) ?? [];
  return path === undefined || reason === undefined ? error : invalid([{ path, reason }]);
}

/** The result of work for a command. Errors: a ServiceError becomes a refusal of the command. */
export async function asRefusal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, info } = error;
    throw new ControlRefusal(message, { code, ...(info === undefined ? {} : { info }) });
  }
}
