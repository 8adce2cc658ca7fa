/** Letters that fonts show as a Latin letter (Unicode Technical Standard 39, confusables), after NFKD. */
const LATIN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аαɑ',
    b: 'вʙь',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еεҽ',
    g: 'ɡց',
    h: 'һհн',
    i: 'ıіιɩ',
    j: 'јȷϳ',
    k: 'кκ',
    l: 'ӏɭ',
    m: 'м',
    n: 'ηпո',
    o: 'оοօσ',
    p: 'рρ',
    q: 'ԛգ',
    r: 'гʀ',
    s: 'ѕꜱ',
    t: 'тτ',
    u: 'υսʋ',
    v: 'νѵ',
    w: 'ԝωա',
    x: 'хχ',
    y: 'уγү',
    z: 'ᴢ',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
);

/** Equal for texts that people take for each other, such as `admın` and `admin`. */
export const skeletonOf = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\p{Mark}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/[^\p{ASCII}]/gu, (letter) => LATIN.get(letter) ?? letter);

export const isAscii = (text: string): boolean => !/[^\p{ASCII}]/u.test(text);
