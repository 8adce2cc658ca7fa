import { LRUCache } from 'lru-cache';
import type { SendMailOptions, Transporter } from 'nodemailer';
import { OUTGOING_TLS } from '../../../platform/network/outgoing-tls.ts';
import { within } from '../../../platform/scheduling/within.ts';
import type { EmailTarget } from '../channels/channel-target.ts';
import type { NotificationContent, ProblemNotice } from '../notification-content.ts';
import { ATTEMPT_MS, delivered, failed, type Message, type Outcome, shownResponse } from './sender.ts';

export interface MailSettings {
  /** `smtp://user:password@host:port`, or `smtps://…`. Absent: no e-mail is sent. */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
}

const MAX_SUBJECT = 150;
/** Messages of which a server has accepted some recipients only. */
const MAX_PARTLY_SENT = 1_000;

interface SentInfo {
  readonly response: string;
  readonly accepted: readonly string[];
  readonly rejected: readonly string[];
  readonly rejectedErrors?: readonly (Error & { readonly responseCode?: number; readonly response?: string })[];
}

/** Sends e-mail by the SMTP server of the settings, one connection for each message. */
export class EmailSender {
  readonly #settings: MailSettings;
  /** Recipients that have a message already, by its id. After a restart they get it once more. */
  readonly #accepted = new LRUCache<string, readonly string[]>({ max: MAX_PARTLY_SENT });

  constructor(settings: MailSettings) {
    this.#settings = settings;
  }

  get isConfigured(): boolean {
    return this.#settings.smtpUrl !== undefined;
  }

  /** Never rejects. */
  async send({ id, content }: Message, { to }: EmailTarget): Promise<Outcome> {
    const { smtpUrl, mailFrom } = this.#settings;
    if (smtpUrl === undefined) return failed('The service has no SMTP server: set SMTP_URL and MAIL_FROM');
    const known = this.#accepted.get(id) ?? [];
    const missing = to.filter((address) => !known.includes(address));
    if (missing.length === 0) return delivered(null, 'All recipients have the message');
    const transport = await openTransport(smtpUrl);
    const domain = mailFrom.slice(mailFrom.lastIndexOf('@') + 1).replace('>', '');
    const mail: SendMailOptions = {
      from: mailFrom,
      to: [...to],
      envelope: { from: mailFrom, to: missing },
      subject: subjectOf(content),
      text: textOf(content),
      messageId: `<${id}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    };
    try {
      const info = await within(
        ATTEMPT_MS,
        transport.sendMail(mail) as Promise<SentInfo>,
        () => new Error(`The SMTP server did not respond within ${ATTEMPT_MS} ms`),
      );
      const later = info.rejectedErrors?.find(({ responseCode = 0 }) => responseCode < 500);
      if (later === undefined) return delivered(codeOf(info.response), responseOf(info));
      this.#accepted.set(id, [...known, ...info.accepted]);
      return failureOf(later);
    } catch (error) {
      return failureOf(error);
    } finally {
      transport.close();
    }
  }
}

/** The library is loaded with the first message. */
async function openTransport(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  const bounds = { connectionTimeout: ATTEMPT_MS, greetingTimeout: ATTEMPT_MS, socketTimeout: ATTEMPT_MS };
  const { protocol, hostname, port, username, password, searchParams } = new URL(url);
  const isTls = protocol === 'smtps:';
  const auth =
    username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } };
  return createTransport({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isTls ? 465 : 587) : Number(port),
    secure: isTls,
    tls: OUTGOING_TLS,
    // Without TLS, a password must not be sent to an attacker who hides STARTTLS.
    requireTLS: !isTls && username !== '' && searchParams.get('tls') !== 'off',
    ignoreTLS: searchParams.get('tls') === 'off',
    ...auth,
    ...bounds,
  });
}

function failureOf(error: unknown): Outcome {
  const { message, response, responseCode } = error as Error & {
    readonly response?: string;
    readonly responseCode?: number;
  };
  const status = responseCode ?? null;
  // 550 and others of the message or its recipients; those of the session may end.
  const isRefused = status !== null && status >= 550 && status < 560;
  return failed(message, { status, response: shownResponse(response ?? ''), isRefused });
}

/** With the recipients that the server refuses permanently. */
const responseOf = ({ response, rejected }: SentInfo): string =>
  rejected.length === 0 ? response : `${response} (refused: ${rejected.join(', ')})`;

const codeOf = (response: string): number | null => Number(/^\d{3}/.exec(response)?.[0] ?? Number.NaN) || null;

const lineOf = (text: string): string => text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();

function subjectOf({ type, notices }: NotificationContent): string {
  const [first] = notices;
  if (type === 'problem.digest') return `[Brokergraph] ${notices.length} changes of problems`;
  const state = type === 'problem.closed' ? 'Closed' : (first?.severity ?? '');
  return lineOf(`[Brokergraph] ${state}: ${first?.title ?? ''}: ${first?.subject.name ?? ''}`).slice(0, MAX_SUBJECT);
}

const textOf = ({ notices }: NotificationContent): string => `${notices.map(paragraphOf).join('\n\n')}\n`;

function paragraphOf(notice: ProblemNotice): string {
  const { change, severity, title, detail, whatWouldHelp, project, broker, subject, openedAt, closedAt, count } =
    notice;
  const lines = [
    `${change}: ${title}`,
    `Subject: ${subject.name}`,
    `Severity: ${severity}`,
    ...(project === null ? [] : [`Project: ${project.name}`]),
    ...(broker === null ? [] : [`Broker: ${broker.name}`]),
    `Opened: ${openedAt}`,
    ...(closedAt === null ? [] : [`Closed: ${closedAt}`]),
    ...(count > 1 ? [`Count: ${count}`] : []),
    `Detail: ${detail}`,
    `What would help: ${whatWouldHelp}`,
  ];
  return lines.map(lineOf).join('\n');
}
