interface DefaultAddress {
  readonly scheme: 'mqtt' | 'mqtts';
  readonly port: number;
}

/** The whole address, of which a host name is enough. */
export function addressOf(typed: string, { scheme, port }: DefaultAddress): string {
  const host = typed.trim();
  if (host === '' || host.includes('://')) return host;
  return `${scheme}://${host}${/:\d+$/.test(host) ? '' : `:${port}`}`;
}
