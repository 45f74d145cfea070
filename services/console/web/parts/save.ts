const KEPT = 60_000 // milliseconds until the browser may forget the bytes

/** Saves a text as a file of the browser. It is downloaded, never opened. */
export function saveText(text: string, name: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }))
  saveFrom(address, name)
  setTimeout(() => URL.revokeObjectURL(address), KEPT)
}

/** Saves what is at an address. Without a name the server's is used. */
export function saveFrom(address: string, name: string): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  document.body.append(link)
  link.click()
  link.remove()
}
