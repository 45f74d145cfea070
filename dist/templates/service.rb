
  # It starts once there is a configuration: copy an example from share/@program@.
  service do
    run [opt_bin/"@program@", "-config", etc/"ziggurat/@program@.yaml"]
    keep_alive crashed: true
    log_path var/"log/@program@.log"
    error_log_path var/"log/@program@.log"
    working_dir var
  end
