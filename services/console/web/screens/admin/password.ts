// Without signs that are taken for each other: 0 and O, 1, l and I.
const SIGNS = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'

const LENGTH = 24

/** Makes a password of this browser's random numbers, 139 bits of them. */
export function madePassword(): string {
  let password = ''
  while (password.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(64))) {
      // Larger bytes would make the first signs more frequent than the others.
      if (byte < SIGNS.length * Math.floor(256 / SIGNS.length) && password.length < LENGTH) password += SIGNS[byte % SIGNS.length]
    }
  }
  return password
}
